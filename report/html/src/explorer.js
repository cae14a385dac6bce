// A chart of any two columns of a table, a series for each value of a third; what it starts with is known for our own studies.
import { grid, legend, logAxis, nameAxis, valueAxis } from "./axes.js";
import { numericColumns } from "./data.js";
import { chart, tooltip } from "./figure.js";
import { columnLabel, columnShown, share } from "./format.js";
import { choice } from "./page.js";
import { filtersOf, startingView } from "./starting_view.js";
import { slotsOf } from "./palette.js";
import { policyStyle } from "./theme.js";

const logarithmic = (values) => values.length > 0 && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 30;

const isShare = (column) => /(_fraction|accuracy|hypervolume)$/.test(column);

/** Columns that name what is compared: a name has the same colour in all figures of the study. */
export const subjects = ["policy", "method", "strategy", "way", "estimator"];

/** `subjectNames`: what the study's tables compare, in order. */
export function explorer(table, subjectNames = []) {
  const numbers = numericColumns(table);
  const view = { ...startingView(table), filters: {}, log: false };
  const texts = table.columns.filter((column) => !numbers.includes(column));
  const heading = () => {
    const text = `${columnShown(view.y).label} by ${columnShown(view.x).label}`;
    return text[0].toUpperCase() + text.slice(1);
  };
  const figure = chart({
    title: heading(),
    note: "Choose what to compare; where several rows fall on one bar, the bar is their mean.",
    wide: true,
    controls: [],
    csv: () => ({ columns: table.columns, rows: rows().map((row) => table.columns.map((column) => row[column])) }),
    option: (colours) => (numbers.includes(view.x) ? points(colours) : bars(colours)),
  });
  const controls = figure.node.querySelector(".controls");
  const panel = document.createElement("span");
  panel.className = "controls";
  controls.prepend(panel);

  const rows = () => table.rows.filter((row) => row[view.y] !== null && row[view.y] !== undefined && row[view.x] !== null &&
    Object.entries(view.filters).every(([column, value]) => value === "" || String(row[column] ?? "none") === value));
  const options = (columns) => columns.map((column) => [column, columnLabel(column)]);

  function drawControls() {
    const set = (key) => (value) => {
      view[key] = value === "" ? null : value;
      view.filters = {};
      drawControls();
      figure.node.querySelector("h3").textContent = heading();
      figure.update();
    };
    const filters = filtersOf(table, view);
    for (const { column, start } of filters) view.filters[column] ??= start;
    panel.replaceChildren(
      choice("Show", options(numbers), view.y, set("y")),
      choice("against", options(table.columns.filter((c) => c !== view.y)), view.x, set("x")),
      choice("by", [["", "nothing"], ...options([...texts, ...numbers].filter((c) => ![view.x, view.y].includes(c)))], view.by ?? "", set("by")),
      ...filters.map(({ column, values }) => choice(columnLabel(column), [["", "all"], ...values.map((value) => [value, value])], view.filters[column], (value) => {
        view.filters[column] = value;
        figure.update();
      })));
  }

  const groups = () => {
    const all = new Map();
    for (const row of rows()) {
      const name = view.by === null ? columnLabel(view.y) : String(row[view.by] ?? "none");
      if (!all.has(name)) all.set(name, []);
      all.get(name).push(row);
    }
    return [...all];
  };

  const places = (shown) => slotsOf(subjects.includes(view.by) ? subjectNames : shown.map(([name]) => name));
  const axis = (colours, column, values, more) => {
    if (logarithmic(values)) return logAxis(colours, columnLabel(column), values, more);
    return valueAxis(colours, columnLabel(column), { scale: true, ...(isShare(column) ? { axisLabel: { color: colours.muted, hideOverlap: true, formatter: (v) => share(v) } } : {}), ...more });
  };

  function points(colours) {
    const shown = groups();
    const xs = rows().map((row) => row[view.x]);
    const ys = rows().map((row) => row[view.y]);
    const where = places(shown);
    const single = shown.every(([, own]) => new Set(own.map((row) => row[view.x])).size === own.length);
    return {
      boxHeight: 400,
      grid: grid(),
      legend: legend(),
      xAxis: axis(colours, view.x, xs),
      yAxis: axis(colours, view.y, ys, { nameGap: 48 }),
      tooltip: tooltip(colours, { formatter: ({ seriesName, data }) => `${seriesName}\n${columnShown(view.x).label} ${columnShown(view.x).show(data[0])}\n${columnShown(view.y).label} ${columnShown(view.y).show(data[1])}` }),
      series: shown.map(([name, own]) => {
        const { colour, dash, symbol } = policyStyle(colours, where, name);
        return {
          type: single ? "line" : "scatter",
          name,
          symbol,
          symbolSize: own.length > 200 ? 4 : 7,
          lineStyle: { color: colour, type: dash, width: 2 },
          itemStyle: { color: colour },
          data: own.map((row) => [row[view.x], row[view.y]]).sort((a, b) => a[0] - b[0]),
        };
      }),
    };
  }

  function bars(colours) {
    const shown = groups();
    const where = places(shown);
    const each = view.by === null && subjects.includes(view.x) ? slotsOf(subjectNames) : null; // a colour a bar
    const names = [...new Set(rows().map((row) => String(row[view.x])))];
    const meanAt = (own, name) => {
      const values = own.filter((row) => String(row[view.x]) === name).map((row) => row[view.y]);
      return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
    };
    return {
      boxHeight: Math.min(1600, Math.max(220, names.length * (shown.length * 11 + 14) + 110)),
      grid: grid(),
      legend: legend(),
      xAxis: valueAxis(colours, columnLabel(view.y), isShare(view.y) ? { axisLabel: { color: colours.muted, hideOverlap: true, formatter: (v) => share(v) } } : {}),
      yAxis: nameAxis(colours, names),
      series: shown.map(([name, own]) => ({
        type: "bar",
        name,
        barMaxWidth: 16,
        itemStyle: { color: policyStyle(colours, where, name).colour },
        tooltip: { valueFormatter: columnShown(view.y).show },
        data: names.map((n) => (each ? { value: meanAt(own, n), itemStyle: { color: policyStyle(colours, each, n).colour } } : meanAt(own, n))),
      })),
    };
  }

  drawControls();
  return figure;
}
