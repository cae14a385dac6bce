// A table of a study, the columns that differ: sorted by any of them, a page at a time. Its CSV has all columns.
import { csvText, download } from "./csv.js";
import { numericColumns } from "./data.js";
import { columnShown, number } from "./format.js";
import { element } from "./page.js";
import { constantColumns } from "./study_data.js";

const pageLength = 50;

export function studyTable(table) {
  const constant = constantColumns(table);
  const told = Object.entries(constant).filter(([, value]) => value !== null);
  const columns = table.columns.filter((column) => !(column in constant));
  const formats = new Map(table.columns.map((column) => [column, columnShown(column)]));
  const shown = (column) => formats.get(column);
  const numeric = new Set(numericColumns(table));
  const state = { sort: null, down: false, page: 0 };
  const holder = element("div", { class: "wide" });

  function sorted() {
    if (!state.sort) return table.rows;
    const sign = state.down ? -1 : 1;
    return [...table.rows].sort((a, b) => {
      const [x, y] = [a[state.sort] ?? null, b[state.sort] ?? null];
      if (x === null || y === null) return (x === null) - (y === null);
      return x < y ? -sign : x > y ? sign : 0;
    });
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(table.rows.length / pageLength));
    const visible = sorted().slice(state.page * pageLength, (state.page + 1) * pageLength);
    const turn = (by) => () => {
      state.page += by;
      draw();
    };
    const sortBy = (column) => () => {
      Object.assign(state, { down: state.sort === column && !state.down, sort: column, page: 0 });
      draw();
    };
    const head = columns.map((column) => element("th", { scope: "col", class: numeric.has(column) ? undefined : "left", title: column,
      "aria-sort": state.sort === column ? (state.down ? "descending" : "ascending") : undefined },
    element("button", { type: "button", onclick: sortBy(column) }, `${shown(column).label}${state.sort === column ? (state.down ? " ↓" : " ↑") : ""}`)));
    const cells = (row) => columns.map((column) => element("td", { class: numeric.has(column) ? undefined : "left" },
      shown(column).show(row[column] ?? null)));
    holder.replaceChildren(
      element("div", { class: "pages" },
        element("button", { type: "button", onclick: () => download(`${table.name}.csv`, csvText(table.columns, table.rows.map((row) => table.columns.map((c) => row[c])))) }, "CSV"),
        pages > 1 ? element("button", { type: "button", disabled: state.page === 0, onclick: turn(-1) }, "Earlier") : "",
        `${number(table.rows.length)} rows${pages > 1 ? `, page ${number(state.page + 1)} of ${number(pages)}` : ""}`,
        pages > 1 ? element("button", { type: "button", disabled: state.page + 1 >= pages, onclick: turn(1) }, "Later") : ""),
      element("div", { class: "scroll tall", role: "region", "aria-label": table.name, tabindex: "0" },
        element("table", {}, element("caption", {}, table.name), element("thead", {}, element("tr", {}, ...head)),
          element("tbody", {}, ...visible.map((row) => element("tr", {}, ...cells(row)))))),
      told.length > 0 ? element("p", { class: "note" }, `The same in every row: ${told.map(([column, value]) => `${shown(column).label} ${shown(column).show(value)}`).join("; ")}.`) : "");
  }
  draw();
  return holder;
}
