// Which job held devices of which node, and when.
import { barsCanvas, zoomButtons } from "./bars_canvas.js";
import { lanesOf } from "./bars_layout.js";
import { groupRows } from "./data.js";
import { drawn, frame } from "./figure.js";
import { duration, number } from "./format.js";
import { choice, colourKeys } from "./page.js";

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
  const kind = (row) => table.model?.[row] ?? "measured";
  const models = [...new Set(Array.from({ length: table.rows }, (_, row) => kind(row)))].sort();
  let policy = byPolicy.keys().next().value;
  let picture;
  let bars;
  const left = table.allRows > table.rows ? ` The first ${number(table.rows)} of ${number(table.allRows)} bars.` : "";
  const { node, box } = frame({
    title: "Jobs on nodes",
    note: `A row a node, a bar for each job on it, as high as the devices that it holds, coloured by model. Click, then zoom with the wheel or + and −, move by dragging or with the arrow keys.${left}`,
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
  const keys = colourKeys(models);
  box.before(keys);
  function show() {
    const made = ganttBars(table, byPolicy.get(policy), run.pools);
    bars = made.bars;
    bars.colour = bars.source.map((row) => Math.max(0, models.indexOf(kind(row))));
    bars.text = (i) => table.job[bars.source[i]];
    picture.show(made.labels, bars);
  }
  return {
    node,
    update() {
      picture = barsCanvas(box, {
        label: "Jobs on nodes over time",
        onDrawn: (marks) => drawn(node, marks),
        describe: (i) => {
          const r = bars.source[i];
          return `${table.job[r]} (${kind(r)})\n${table.pool[r]}/${table.node[r]}, ${number(table.devices[r])} devices\n${duration(table.start_s[r])} to ${duration(table.end_s[r])}: ${duration(table.end_s[r] - table.start_s[r])}`;
        },
      });
      show();
    },
  };
}
