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
    ...(summary.pools ?? []).map((p) => `${p.pool}: ${number(p.nodes)} × ${p.instance}, ${number(p.nodes * p.devices_per_node)} devices`),
  ].filter(Boolean);
  return element("header", {},
    element("div", { class: "title" },
      element("h1", {}, summary.scenario),
      element("button", { type: "button", class: "theme", onclick: toggleTheme }, "Light or dark")),
    description ? element("p", {}, description) : null,
    element("ul", { class: "facts" }, ...facts.map((fact) => element("li", {}, fact))),
    inputs(summary.inputs ?? []),
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

/** Names with the series' colours, where a picture has no legend of its own. */
export function colourKeys(names) {
  return element("ul", { class: "keys" }, ...names.map((name, i) => element("li", {}, element("span", { class: `swatch series-${i % 8}` }), name)));
}

/** A labelled choice of `options` ([value, text]); `onchange` gets the value. */
export function choice(label, options, selected, onchange) {
  return element("label", {}, `${label} `,
    element("select", { onchange: (event) => onchange(event.target.value) },
      ...options.map(([value, text]) => element("option", { value, selected: value === selected }, text))));
}
