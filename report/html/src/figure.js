// A figure: title, what it shows, its chart or canvas, and its data as CSV behind a button.
import { BarChart, CustomChart, GraphChart, LineChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, TooltipComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { csvText, download, fileName } from "./csv.js";
import { element, keyList } from "./page.js";
import { onTheme, theme } from "./theme.js";

use([BarChart, CustomChart, GraphChart, LineChart, ScatterChart, DataZoomComponent, GridComponent, TooltipComponent, CanvasRenderer]);

/**
 * The frame. `csv()` gives { columns, rows }; `controls` are nodes beside the title. Returns the figure's node and the box that the
 * picture goes into; the node's data-drawn says when something has been drawn.
 */
export function frame({ title, note, csv, controls = [], height = 320, wide = false }) {
  const box = element("div", { class: "picture" });
  box.style.height = `${height}px`;
  const save = csv && element("button", {
    type: "button",
    title: `The data of "${title}" as a CSV file`,
    onclick: () => {
      const { columns, rows } = csv();
      download(fileName(title), csvText(columns, rows));
    },
  }, "CSV");
  const node = element("figure", { class: wide ? "wide" : undefined, "data-figure": title, "data-drawn": "false" },
    element("figcaption", {},
      element("div", { class: "title" }, element("h3", {}, title), element("span", { class: "controls" }, ...controls, save ?? null)),
      note ? element("p", { class: "note" }, note) : null),
    box);
  return { node, box };
}

/** Says that something can be seen. */
export function drawn(node, marks) {
  node.dataset.drawn = String(marks > 0);
}

function marksIn(option) {
  return [option.series].flat().reduce((sum, series) => sum + (series.data ?? series.nodes ?? []).length, 0);
}

/** What a legend says of the series: [{ name, colour, dash, symbol, hollow }], each name once; `wanted`: these alone. */
function keysOf({ series }, wanted) {
  const keys = new Map();
  for (const { type, name, itemStyle = {}, lineStyle, symbol, categories } of [series].flat()) {
    for (const category of categories ?? []) keys.set(category.name, { name: category.name, colour: category.itemStyle.color, fixed: true });
    if (name === undefined || keys.has(name) || (wanted && !wanted.includes(name))) continue;
    const hollow = itemStyle.borderWidth > 1;
    const colour = lineStyle?.color ?? (hollow ? itemStyle.borderColor : itemStyle.color);
    keys.set(name, { name, colour, hollow, dash: type === "line" ? lineStyle?.type ?? "solid" : undefined, symbol: type === "scatter" ? symbol : undefined });
  }
  return [...keys.values()];
}

/**
 * A figure with a chart of ECharts. `option(colours)` is asked at the beginning, when the colours change, and by the returned
 * update(); with `redraw` also when the figure's width changes. The node must be in the page before update() is first called. With `legend` in the option there are buttons below the
 * chart, one a name, that hide and show its series: they can be reached with the keyboard, as what is painted in a canvas cannot.
 */
export function chart(setup) {
  const { node, box } = frame(setup);
  const hidden = new Set();
  const keys = element("ul", { class: "keys" });
  node.append(keys);
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", [setup.title, setup.note].filter(Boolean).join(". "));
  let instance;
  const update = () => {
    const colours = theme();
    const option = setup.option(colours);
    if (option.boxHeight) box.style.height = `${option.boxHeight}px`;
    delete option.boxHeight;
    const marks = marksIn(option);
    if (option.legend) {
      const items = keysOf(option, option.legend.data);
      keyList(keys, items.length > 1 ? items : [], hidden, update);
      option.series = option.series.filter(({ name }) => !hidden.has(name));
      delete option.legend;
    }
    if (!instance) {
      instance = init(box, null, { devicePixelRatio: Math.max(2, devicePixelRatio) });
      let width = box.clientWidth;
      new ResizeObserver(() => {
        instance.resize();
        if (setup.redraw && box.clientWidth !== width) update();
        width = box.clientWidth;
      }).observe(box);
    }
    instance.off("finished");
    instance.on("finished", () => drawn(node, marks));
    instance.setOption({ ...base(colours), ...option }, { notMerge: true });
    instance.resize();
    instance.getZr().flush(); // now, not in the next frame
  };
  onTheme(update);
  return { node, update, on: (event, f) => instance.on(event, f) };
}

function base(colours) {
  return {
    animation: false,
    color: colours.series,
    textStyle: { color: colours.text, fontFamily: "system-ui, sans-serif" },
    tooltip: tooltip(colours),
  };
}

export function tooltip(colours, more = {}) {
  return {
    confine: true,
    backgroundColor: colours.surface,
    borderColor: colours.line,
    textStyle: { color: colours.text, fontSize: 12 },
    renderMode: "richText", // text stays text
    ...more,
  };
}
