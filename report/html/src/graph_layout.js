// Graphs as report/graph_dot.cpp writes them, and where to draw their nodes: in layers from the top down.

const unquoted = (text) => text.replace(/\\(.)/g, "$1");
const attribute = (text, name) => {
  const found = text.match(new RegExp(`\\b${name}="((?:[^"\\\\]|\\\\.)*)"`));
  return found ? unquoted(found[1]) : null;
};

/** { devices: [label], nodes: [{ label, device, backward }], edges: [[from, to, label]] } of our DOT text; device -1: none. */
export function readDot(text) {
  const devices = [];
  const colours = [];
  const nodes = [];
  const edges = [];
  for (const line of text.split("\n")) {
    const edge = line.match(/^\s*op(\d+) -> op(\d+)(.*)$/);
    const node = line.match(/^\s*(op|device)(\d+) \[(.*)\];$/);
    if (edge) edges.push([Number(edge[1]), Number(edge[2]), attribute(edge[3], "tooltip") ?? ""]);
    else if (node?.[1] === "device") {
      devices[node[2]] = attribute(node[3], "label");
      colours[node[2]] = attribute(node[3], "fillcolor");
    } else if (node) {
      nodes[node[2]] = { label: attribute(node[3], "label"), device: colours.indexOf(attribute(node[3], "fillcolor")), backward: /dashed/.test(node[3]) };
    }
  }
  return { devices, nodes, edges };
}

/** Layer of each node: one below the lowest of those before it. An edge that closes a circle does not count. */
export function layersOf(count, edges) {
  const before = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) before[to].push(from);
  const layer = new Array(count).fill(-1);
  for (let start = 0; start < count; ++start) {
    const stack = [start];
    const open = new Set();
    while (stack.length > 0) {
      const node = stack.at(-1);
      const missing = layer[node] >= 0 ? [] : before[node].filter((b) => layer[b] < 0 && !open.has(b) && b !== node);
      open.add(node);
      if (missing.length > 0) {
        stack.push(missing[0]);
        continue;
      }
      if (layer[node] < 0) layer[node] = before[node].reduce((most, b) => Math.max(most, layer[b] + 1), 0);
      stack.pop();
    }
  }
  return layer;
}

/** Positions { x, y }: y is the layer; in a layer nodes are in the order of the mean place of those before them, centred. */
export function layout(count, edges) {
  const layer = layersOf(count, edges);
  const rows = [];
  layer.forEach((at, node) => (rows[at] ??= []).push(node));
  const before = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) before[to].push(from);
  const at = new Array(count);
  for (const [y, row] of rows.entries()) {
    const wish = new Map(row.map((node) => {
      const placed = before[node].filter((b) => at[b]);
      return [node, placed.length === 0 ? 0 : placed.reduce((sum, b) => sum + at[b].x, 0) / placed.length];
    }));
    row.sort((a, b) => wish.get(a) - wish.get(b) || a - b);
    row.forEach((node, i) => {
      at[node] = { x: i - (row.length - 1) / 2, y };
    });
  }
  return at;
}
