// What the charts of studies are made of, from rows of their tables.
import { groupRows } from "./data.js";

const grouped = (rows, column) => [...groupRows(rows.map((row) => row[column]))].map(([value, places]) => [value, places.map((i) => rows[i])]);

/** Of the study frontier: for each job its floors, and under each a line for each policy: [deadline_s, cost_usd, whether kept]. */
export function frontiers(rows) {
  const point = (row) => [row.deadline_s, row.cost_usd, row.kept_fraction === 1];
  return grouped(rows, "job").map(([job, own]) => ({
    job,
    floors: grouped(own, "target_accuracy").map(([floor, at]) => ({
      floor,
      lines: grouped(at, "policy").map(([policy, points]) => ({ policy, points: points.map(point).sort((a, b) => a[0] - b[0]) })),
    })),
  }));
}

/**
 * Of the study characterise: for each job its money by resources and batch size, over the least that keeps the limits (of all, when
 * none does). Cells are { row, column, value, kept, best }.
 */
export function heatMaps(rows) {
  return grouped(rows, "job").map(([job, own]) => {
    const nameOf = (row) => `${row.pool} × ${row.workers}`;
    const names = [...new Set(own.map(nameOf))];
    const batches = [...new Set(own.map((row) => row.batch_size))].sort((a, b) => a - b);
    const isKept = (row) => row.keeps_limits === "true";
    const kept = own.filter(isKept);
    const least = Math.min(...(kept.length > 0 ? kept : own).map((row) => row.cost_usd));
    const cells = own.map((row) => ({ row: names.indexOf(nameOf(row)), column: batches.indexOf(row.batch_size), value: row.cost_usd / least, kept: isKept(row), best: false }));
    const best = cells.find((cell) => cell.kept && cell.value === 1);
    if (best) best.best = true;
    return { job, names, batches, cells };
  });
}

// From bright to less bright, all of them bright enough for black numbers; as report/plots/gnuplot.cpp has them.
const stops = [[255, 252, 192], [199, 233, 180], [127, 205, 187], [77, 179, 201]];

/** The colour of a value from 1 up to `most`, by its logarithm. */
export function heatColour(value, most) {
  const at = most > 1 ? Math.min(1, Math.max(0, Math.log(value) / Math.log(most))) * (stops.length - 1) : 0;
  const below = Math.min(stops.length - 2, Math.floor(at));
  return `rgb(${stops[below].map((from, i) => Math.round(from + (stops[below + 1][i] - from) * (at - below))).join(",")})`;
}

/** Columns of a table of several rows that have one value throughout: { column: value }. */
export function constantColumns({ columns, rows }) {
  if (rows.length < 2) return {};
  return Object.fromEntries(columns.filter((column) => rows.every((row) => (row[column] ?? null) === (rows[0][column] ?? null))).map((column) => [column, rows[0][column] ?? null]));
}
