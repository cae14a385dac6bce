// Files that a study has left for pictures: placements as coloured graphs, steps as timelines.
import { legend } from "./axes.js";
import { barsCanvas, heightFor, zoomButtons } from "./bars_canvas.js";
import { chart, drawn, frame, tooltip } from "./figure.js";
import { duration } from "./format.js";
import { layout, readDot } from "./graph_layout.js";
import { section } from "./page.js";
import { styleOf } from "./theme.js";

/** "timeline-resnet50-4%20x%20k80-makespan.json" -> "One step of resnet50 on 4 x k80 (makespan)". */
export function pictureTitle(name) {
  let stem = name.replace(/\.[a-z]+$/, "");
  try {
    stem = decodeURIComponent(stem);
  } catch {
    return stem;
  }
  const [, kind, model, machine, objective] = /^(placement|timeline)-(.+)-(\d+ x .+)-([a-z]+)$/.exec(stem) ?? [];
  if (!kind) return stem.replace("-", " ");
  return `${kind === "placement" ? "Placement of" : "One step of"} ${model} on ${machine.replace(" x ", " × ")} (${objective})`;
}

/** A placement: each group of operations in the colour of its device, passed tensors as lines; thick ones between devices. */
function placement(name, text) {
  const { devices, nodes, edges } = readDot(text);
  const at = layout(nodes.length, edges);
  const crosses = ([from, to]) => nodes[from].device !== nodes[to].device;
  const deep = Math.max(...at.map(({ y }) => y)) + 1;
  const broad = 2 * Math.max(1, ...at.map(({ x }) => Math.abs(x))) + 1;
  return chart({
    title: pictureTitle(name),
    note: `${nodes.length} groups of operations in the colour of their device, from the first at the left to the last; thick lines pass tensors between devices (${edges.filter(crosses).length} of ${edges.length}). Framed: backward pass.`,
    wide: true,
    csv: () => ({ columns: ["group", "label", "device", "passes_to"], rows: nodes.map((n, i) => [i, n.label, devices[n.device] ?? "", edges.filter(([from]) => from === i).map(([, to]) => to).join(" ")]) }),
    option: (colours) => ({
      boxHeight: 380,
      legend: legend(),
      tooltip: tooltip(colours, { formatter: ({ dataType, data }) => (dataType === "edge" ? data.bytes : `${data.name}\n${devices[data.category] ?? "no device"}`) }),
      series: [{
        type: "graph",
        layout: "none",
        roam: true,
        preserveAspect: "contain",
        left: 20, right: 20, top: 16, bottom: 16,
        symbolSize: Math.max(5, Math.min(16, 900 / deep)),
        categories: devices.map((device, i) => ({ name: device, itemStyle: { color: styleOf(colours, i).colour } })),
        edgeSymbol: ["none", "none"],
        data: nodes.map((node, i) => ({ id: String(i), name: node.label, x: at[i].y * (1100 / deep), y: at[i].x * (300 / broad), category: Math.max(0, node.device),
          itemStyle: node.backward ? { borderColor: colours.text, borderWidth: 1.2 } : {} })),
        links: edges.map((edge) => ({ source: String(edge[0]), target: String(edge[1]), bytes: edge[2],
          lineStyle: { color: crosses(edge) ? colours.text : colours.muted, width: crosses(edge) ? 2 : 0.8, opacity: 0.7, curveness: 0.12 } })),
      }],
    }),
  });
}

/** Rows and bars of a file of the Trace Event Format, as report/plots/timeline.cpp and step_timeline.cpp write it; seconds. */
export function traceBars(text) {
  const rows = [];
  const place = new Map();
  const bars = { row: [], from: [], to: [], lane: [], lanes: [], colour: [], source: [] };
  const rowOf = ({ pid, tid }) => {
    const key = `${pid}/${tid}`;
    if (!place.has(key)) {
      place.set(key, rows.length);
      rows.push({ name: key, lanes: 1 });
    }
    return place.get(key);
  };
  const kinds = new Map();
  for (const event of JSON.parse(text).traceEvents) {
    if (event.ph === "M" && event.name === "thread_name") rows[rowOf(event)].name = event.args.name;
    if (event.ph !== "X") continue;
    const row = rowOf(event);
    if (!kinds.has(event.name)) kinds.set(event.name, kinds.size);
    bars.row.push(row);
    bars.from.push(event.ts * 1e-6);
    bars.to.push((event.ts + event.dur) * 1e-6);
    bars.lane.push(0);
    bars.lanes.push(1);
    bars.colour.push(event.args?.op === undefined ? kinds.get(event.name) : row); // devices as in the placement's graph
    bars.source.push(event.name);
  }
  return { rows, bars };
}

function timeline(name, text) {
  const { rows, bars } = traceBars(text);
  if (bars.row.length === 0) return null;
  let picture;
  bars.text = (i) => bars.source[i];
  const { node, box } = frame({
    title: pictureTitle(name),
    note: "One training step: a row for each device, link or core. Click, then zoom with the wheel or + and −, move by dragging or with the arrow keys.",
    wide: true,
    height: heightFor(rows),
    controls: zoomButtons(() => picture),
    csv: () => ({ columns: ["row", "operation", "start_s", "end_s"], rows: bars.row.map((row, i) => [rows[row].name, bars.source[i], bars.from[i], bars.to[i]]) }),
  });
  return {
    node,
    update() {
      picture = barsCanvas(box, {
        label: pictureTitle(name),
        onDrawn: (marks) => drawn(node, marks),
        describe: (i) => `${bars.source[i]}\n${rows[bars.row[i]].name}\n${duration(bars.from[i])} to ${duration(bars.to[i])}: ${duration(bars.to[i] - bars.from[i])}`,
      });
      picture.show(rows, bars);
    },
  };
}

const kinds = [[".dot", "Placements", placement], [".json", "Step timelines", timeline]];

export function pictures(main, { files = {}, left_out: leftOut = [] }) {
  for (const [ending, title, make] of kinds) {
    const made = Object.entries(files).filter(([name]) => name.endsWith(ending)).map(([name, text]) => make(name, text)).filter(Boolean);
    if (made.length === 0) continue;
    const { node, body } = section(title);
    main.append(node);
    for (const figure of made) {
      body.append(figure.node);
      figure.update?.();
    }
  }
  if (leftOut.length > 0) main.append(section("Other pictures", `In the results folder, not in this report: ${leftOut.join(", ")}`).node);
}
