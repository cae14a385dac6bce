// The report of a study: its placements and timelines, and each of its tables with charts.
import { numericColumns, studyTables } from "./data.js";
import { explorer } from "./explorer.js";
import { element, section } from "./page.js";
import { chartsOf } from "./study_charts.js";
import { pictures } from "./study_pictures.js";
import { studyTable } from "./study_table.js";
import { columnLabel } from "./format.js";

export function renderStudy(main, { summary }, detail) {
  if (summary.notes?.length > 0)
    main.append(section("Notes", element("ul", {}, ...summary.notes.map((note) => element("li", {}, note)))).node);
  pictures(main, detail);
  for (const table of studyTables(summary.tables ?? {})) {
    if (table.rows.length === 0) continue;
    const { node, body } = section(columnLabel(table.name));
    main.append(node);
    for (const own of chartsOf(table)) {
      body.append(own.node);
      own.update();
    }
    const figure = numericColumns(table).length > 0 ? explorer(table) : null;
    if (figure) {
      body.append(figure.node);
      figure.update();
    }
    body.append(studyTable(table));
  }
}
