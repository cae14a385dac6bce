// Which job held devices of which node, and when.
import { barsCanvas, markColour, zoomButtons } from "./bars_canvas.js";
import { addWaiting, interruptions, lanesOf, waits } from "./bars_layout.js";
import { groupRows } from "./data.js";
import { drawn, frame } from "./figure.js";
import { duration, number } from "./format.js";
import { choice, element, keyList } from "./page.js";
import { onTheme, theme } from "./theme.js";

/** Rows (a node each, pool by pool) and bars of one policy's rows of nodes.csv. */
export function ganttBars(table, rows, pools) {
  const perNode = new Map(pools.map((p) => [p.pool, p.devices_per_node]));
  const order = new Map(pools.map((p, i) => [p.pool, i]));
  const nodes = [...groupRows(rows.map((row) => `${table.pool[row]}/${table.node[row]}`))].map(([name, places]) => ({ name, rows: places.map((i) => rows[i]) }));
  const place = ({ rows: [row] }) => [order.get(table.pool[row]) ?? 0, table.node[row]];
  nodes.sort((a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1]);
  const bars = { row: [], from: [], to: [], lane: [], lanes: [], colour: [], source: [] };
  const labels = nodes.map(({ name, rows: own }, row) => {
    own.sort((a, b) => table.start_s[a] - table.start_s[b]);
    const lanes = perNode.get(table.pool[own[0]]) ?? 1;
    const at = lanesOf(own.map((r) => ({ from: table.start_s[r], to: table.end_s[r], devices: table.devices[r] })), lanes);
    own.forEach((r, i) => {
      bars.row.push(row);
      bars.from.push(table.start_s[r]);
      bars.to.push(table.end_s[r]);
      bars.lane.push(at[i]);
      bars.lanes.push(Math.max(table.devices[r], 1 / 4));
      bars.source.push(r);
    });
    return { name, lanes };
  });
  return { labels, bars };
}

export function gantt(run) {
  const table = run.nodes;
  if (!table || table.rows === 0) return null;
  const byPolicy = groupRows(table.policy);
  const jobsOf = run.jobs ? new Map([...groupRows(run.jobs.policy)]) : new Map();
  const kind = (row) => table.model?.[row] ?? "measured";
  const models = [...new Set(Array.from({ length: table.rows }, (_, row) => kind(row)))].sort();
  let policy = byPolicy.keys().next().value;
  let picture;
  let bars;
  const left = table.allRows > table.rows ? ` The first ${number(table.rows)} of ${number(table.allRows)} bars; interruptions and waiting of the jobs that are in the list below.` : "";
  const { node, box } = frame({
    title: "Jobs on nodes",
    note: `A row a node, a bar for each job on it, as high as the devices that it holds, coloured by model. Above them, grey: jobs that wait. Click, then zoom with the wheel or + and −, move by dragging or with the arrow keys.${left}`,
    wide: true,
    height: 460,
    controls: [
      choice("Policy", [...byPolicy.keys()].map((p) => [p, p]), policy, (value) => {
        policy = value;
        show();
      }),
      ...zoomButtons(() => picture),
    ],
    csv: () => ({
      columns: ["policy", "job", "pool", "node", "devices", "start_s", "end_s"],
      rows: byPolicy.get(policy).map((r) => [policy, table.job[r], table.pool[r], table.node[r], table.devices[r], table.start_s[r], table.end_s[r]]),
    }),
  });
  const keys = element("ul", { class: "keys", "data-marks": "" });
  node.append(keys);
  const kinds = { preempted: "preempted: another job took over", lost: "lost its node: nobody took over", failed: "job failed" };
  function drawKeys() {
    const colours = theme();
    const seen = new Set(bars.marks.map((mark) => mark.kind));
    keyList(keys, [
      ...models.map((name, i) => ({ name, colour: colours.parts[i % colours.parts.length], fixed: true })),
      ...(bars.waits ? [{ name: "waiting", colour: colours.waiting, fixed: true }] : []),
      ...Object.keys(kinds).filter((name) => seen.has(name)).map((name) => ({ name: kinds[name], colour: markColour(colours, name), symbol: { preempted: "rect", lost: "triangle", failed: "diamond" }[name], fixed: true })),
    ], new Set());
    keys.dataset.marks = [...seen].sort().join(" ");
  }
  function show() {
    const made = ganttBars(table, byPolicy.get(policy), run.pools);
    bars = made.bars;
    const rows = jobsOf.get(policy) ?? [];
    bars.marks = interruptions(table, bars, new Map(rows.map((r) => [run.jobs.job[r], { state: run.jobs.state?.[r], reconfigurations: run.jobs.reconfigurations?.[r] }])), table.rows === table.allRows);
    addWaiting(made, waits(table, bars, new Map(rows.map((r) => [run.jobs.job[r], run.jobs.submit_s?.[r]]))));
    bars.colour = bars.source.map((row) => (row < 0 ? theme().waiting : Math.max(0, models.indexOf(kind(row)))));
    bars.text = (i) => (bars.source[i] < 0 ? bars.waits[i] : table.job[bars.source[i]]);
    picture.show(made.labels, bars);
    drawKeys();
  }
  onTheme(() => bars && drawKeys());
  return {
    node,
    update() {
      picture = barsCanvas(box, {
        label: "Jobs on nodes over time",
        onDrawn: (marks) => drawn(node, marks),
        describe: (i) => {
          const r = bars.source[i];
          if (r < 0) return `${bars.waits[i]} waits\n${duration(bars.from[i])} to ${duration(bars.to[i])}: ${duration(bars.to[i] - bars.from[i])}`;
          const ended = bars.marks.find((mark) => mark.bar === i);
          return `${table.job[r]} (${kind(r)})\n${table.pool[r]}/${table.node[r]}, ${number(table.devices[r])} devices\n${duration(table.start_s[r])} to ${duration(table.end_s[r])}: ${duration(table.end_s[r] - table.start_s[r])}${ended ? `\n${kinds[ended.kind]}` : ""}`;
        },
      });
      show();
    },
  };
}
