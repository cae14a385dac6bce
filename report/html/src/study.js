// The report of a study: its placements and timelines, and each of its tables with charts.
import { numericColumns, studyTables } from "./data.js";
import { explorer, subjects } from "./explorer.js";
import { element, section } from "./page.js";
import { chartsOf } from "./study_charts.js";
import { pictures } from "./study_pictures.js";
import { studyTable } from "./study_table.js";
import { headline, inOrder, titleOf } from "./study_headline.js";

export function renderStudy(main, { summary }, detail) {
  const tables = inOrder(studyTables(summary.tables ?? {}).filter(({ rows }) => rows.length > 0));
  const found = summary.findings ?? [headline(tables)].filter(Boolean);
  main.append(...found.map((sentence) => element("p", { class: "verdict", "data-verdict": "study" }, sentence)));
  const names = [...new Set(tables.flatMap(({ rows }) => rows.flatMap((row) => subjects.map((column) => row[column]).filter((name) => typeof name === "string"))))];
  const [first, ...rest] = tables;
  if (first) tableSection(main, first, names);
  pictures(main, detail);
  for (const table of rest) tableSection(main, table, names);
  if (summary.notes?.length > 0)
    main.append(section("Notes", element("ul", {}, ...summary.notes.map((note) => element("li", {}, note)))).node);
}

function tableSection(main, table, names) {
  const { node, body } = section(titleOf(table.name));
  main.append(node);
  for (const own of chartsOf(table)) {
    body.append(own.node);
    own.update();
  }
  const figure = numericColumns(table).length > 0 ? explorer(table, names) : null;
  if (figure) {
    body.append(figure.node);
    figure.update();
  }
  body.append(studyTable(table));
}
