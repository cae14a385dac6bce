// The page's parts: elements made from text (never from markup, so that names of jobs stay text), sections, tables, the header.
import { number } from "./format.js";
import { toggleTheme } from "./theme.js";

/** element("p", { class: "note", onclick: f }, "text", child, ...). */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

/** A section with a heading that the navigation leads to; figures go into `body`. */
export function section(title, ...children) {
  const body = element("div", { class: "figures" });
  const node = element("section", { id: slug(title) }, element("h2", {}, title), ...children, body);
  document.querySelector("nav ul")?.append(element("li", {}, element("a", { href: `#${slug(title)}` }, title)));
  return { node, body };
}

export function header({ summary, description }) {
  const facts = [
    summary.study && `study ${summary.study}`,
    `seed ${summary.seed}`,
    `${summary.repetitions} ${summary.repetitions === 1 ? "repetition" : "repetitions"}`,
    summary.baseline && `savings against ${summary.baseline}`,
    billing(summary),
    ...(summary.pools ?? []).map((p) => `${p.pool}: ${number(p.nodes)} × ${p.instance}, ${number(p.nodes * p.devices_per_node)} devices${p.price_date ? `, price of ${p.price_date}` : ""}`),
  ].filter(Boolean);
  return element("header", {},
    element("div", { class: "title" },
      element("h1", {}, summary.scenario),
      element("button", { type: "button", class: "theme", onclick: toggleTheme }, "Light or dark")),
    description ? element("p", {}, description) : null,
    element("ul", { class: "facts" }, ...facts.map((fact) => element("li", {}, fact))),
    inputs(summary.inputs ?? []),
    warnings(summary.warnings ?? []),
    element("nav", { "aria-label": "Sections" }, element("ul")));
}

/** Who paid for what; results of older programs do not say it. */
function billing({ billing: rule, minimum_node_s: least }) {
  if (rule === "node") return `billing: node (whole nodes while they are rented${least > 0 ? `, ${number(least)} s each at least` : ""})`;
  if (rule === "pool") return "billing: pool (every node from first submission to last end; policies minimise price-weighted device-seconds of a job's pools until it ends)";
  return rule && `billing: ${rule} (devices while they are held)`;
}

function inputs(list) {
  if (list.length === 0) return null;
  return element("ul", { class: "facts" }, ...list.map((input) =>
    element("li", {}, `${input.path}: ${number(input.rows)} rows, ${number(input.jobs)} used`)));
}

/** What `check` and `run` warn of, in their words. */
function warnings(list) {
  if (list.length === 0) return null;
  return element("ul", { class: "warnings", "aria-label": "Warnings" }, ...list.map((text) => element("li", {}, `warning: ${text}`)));
}

/** `columns` are { label, value(row) -> text or node, left, doc: what a pointer over it shows }; the first cell of a row names it. */
export function table(columns, rows, caption) {
  const cell = (column, row, first) => {
    const value = column.value(row);
    return element(first ? "th" : "td", { scope: first ? "row" : undefined, class: column.left || first ? "left" : undefined }, value);
  };
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...columns.map((c, i) =>
        element("th", { scope: "col", title: c.doc, class: c.left || i === 0 ? "left" : undefined }, c.label)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...columns.map((c, i) => cell(c, row, i === 0)))))));
}

const svgSpace = "http://www.w3.org/2000/svg";

const outlines = {
  circle: "M3 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", rect: "M3 2h8v8h-8z", triangle: "M7 2l5 8h-10z", diamond: "M7 1l5 5l-5 5l-5-5z",
  "path://M0 0h10l-5 9z": "M2 2h10l-5 9z", pin: "M7 11l-4-6l2-3h4l2 3z", arrow: "M7 1l5 10l-5-3l-5 3z",
};

/** A sample of how a series is drawn: a line with its dashes, a symbol, or a box. */
export function sample({ colour, dash, symbol, hollow }) {
  const svg = document.createElementNS(svgSpace, "svg");
  const shape = document.createElementNS(svgSpace, "path");
  const attributes = dash !== undefined
    ? { d: "M0 6h26", stroke: colour, "stroke-width": 2.5, "stroke-dasharray": Array.isArray(dash) ? dash.join(" ") : dash === "dotted" ? "2 3" : dash === "dashed" ? "8 3" : "none" }
    : { d: symbol ? outlines[symbol] ?? outlines.circle : "M1 1h12v10h-12z", fill: hollow ? "none" : colour, stroke: colour, "stroke-width": hollow ? 2 : 0.5 };
  for (const [name, value] of Object.entries({ width: dash !== undefined ? 26 : 14, height: 12, "aria-hidden": "true" })) svg.setAttribute(name, value);
  for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
  svg.append(shape);
  return svg;
}

/** Fills a legend: `items` are { name, colour, ... of sample(), fixed: not to be hidden }. Pressing one hides or shows it. */
export function keyList(list, items, hidden, update) {
  const focused = [...list.children].findIndex((item) => item.contains(document.activeElement));
  list.replaceChildren(...items.map((item) => element("li", {}, item.fixed ? element("span", {}, sample(item), item.name)
    : element("button", { type: "button", "data-key": item.name, "aria-pressed": hidden.has(item.name) ? "false" : "true", title: `Hide or show ${item.name}`, onclick: () => {
      if (!hidden.delete(item.name)) hidden.add(item.name);
      update();
    } }, sample(item), item.name))));
  if (focused >= 0) list.children[focused]?.querySelector("button")?.focus();
}

/** A labelled choice of `options` ([value, text]); `onchange` gets the value. */
export function choice(label, options, selected, onchange) {
  return element("label", {}, `${label} `,
    element("select", { onchange: (event) => onchange(event.target.value) },
      ...options.map(([value, text]) => element("option", { value, selected: value === selected }, text))));
}
