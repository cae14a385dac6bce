// The data inside the page: what report/packed_table.hpp and report/html_report.hpp have written.
import { yardstickMark } from "./palette.js";

export function readSummary() {
  return JSON.parse(document.getElementById("summary").textContent);
}

export async function readDetail() {
  const bytes = Uint8Array.from(atob(document.getElementById("detail").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** Yardsticks are called so in every table and figure; `own_name` of a summary's row is what the files call it. */
export function markYardsticks({ summary, timing }, detail) {
  const yardsticks = new Set(summary.yardsticks ?? []);
  const shown = (name) => (yardsticks.has(name) ? name + yardstickMark : name);
  for (const row of summary.policies ?? []) [row.own_name, row.policy] = [row.policy, shown(row.policy)];
  for (const row of timing?.policies ?? []) row.policy = shown(row.policy);
  for (const row of Object.values(summary.tables ?? {}).flat()) if (row.policy !== undefined) row.policy = shown(row.policy);
  if (detail?.counted) detail.counted = Object.fromEntries(Object.entries(detail.counted).map(([name, counted]) => [shown(name), counted]));
  for (const part of Object.values(detail ?? {})) {
    const columns = (part?.table ?? part)?.columns;
    if (columns?.policy?.names) columns.policy.names = columns.policy.names.map(shown);
    else if (typeof columns?.policy?.all === "string") columns.policy.all = shown(columns.policy.all);
  }
}

/** A packed table as { rows, NAME: array of values }; null is undefined. */
export function unpackTable(table) {
  const out = { rows: table.rows };
  for (const [name, column] of Object.entries(table.columns)) out[name] = unpackColumn(column, table.rows);
  return out;
}

function unpackColumn(column, rows) {
  if (column.codes) return column.codes.map((code) => (code < 0 ? null : column.names[code]));
  return column.numbers ?? new Array(rows).fill(column.all);
}

/** Row numbers by the values of a column, in order of first appearance. */
export function groupRows(values) {
  const groups = new Map();
  values.forEach((value, row) => {
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(row);
  });
  return groups;
}

/** One row of an unpacked table as an object. */
export function rowOf(table, row) {
  return Object.fromEntries(Object.entries(table).filter(([name]) => name !== "rows").map(([name, values]) => [name, values[row]]));
}

/** The tables of a study's summary.json ({NAME: [row objects]}) as { NAME: { columns, rows } }, columns in order of appearance. */
export function studyTables(tables) {
  return Object.entries(tables).map(([name, rows]) => ({
    name,
    columns: [...new Set(rows.flatMap((row) => Object.keys(row)))],
    rows,
  }));
}

/** Which columns hold numbers only (and at least one). */
export function numericColumns({ columns, rows }) {
  return columns.filter((column) => {
    const values = rows.map((row) => row[column]).filter((value) => value !== null && value !== undefined);
    return values.length > 0 && values.every((value) => typeof value === "number");
  });
}

/** [value, share of values that are at most so large] of a sorted list that has `count` values thinned out to its quantiles. */
export function distributionPoints({ count, values }) {
  if (count === values.length) return values.map((value, i) => [value, (i + 1) / count]);
  return values.map((value, i) => [value, i / (values.length - 1)]);
}
