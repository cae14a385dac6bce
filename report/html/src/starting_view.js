// What a chart of a study's table begins with.
import { numericColumns } from "./data.js";

/** What to look at first: x, y, series, and the columns of which one value at a time is shown. */
const known = {
  learning: ["runs", "saving_percent", "policy", ["model_error"]],
  contributions: ["knob", "in_turn_percent", "policy", []],
  frontier: ["deadline_s", "cost_usd", "policy", ["job", "target_accuracy"]],
  policies: ["policy", "saving_percent", null, []],
  savings: ["policy", "median_percent", "over", ["job"]],
  grid: ["workers", "cost_usd", "pool", ["job", "batch_size"]],
  choices: ["deadline_s", "cost_usd", "way", ["job", "target_accuracy"]],
  apart: ["way", "extra_percent_mean", "job", []],
  placement: ["method", "step_s", "machine", ["graph", "objective"]],
  "placement-search": ["evaluations", "step_s", "method", ["graph", "machine", "objective"]],
  "search-front": ["latency_s", "accuracy", "space", []],
  "search-progress": ["evaluations", "hypervolume", "method", ["space", "repetition"]],
  "threads-curves": ["threads", "seconds", "operation", ["machine", "model"]],
  "threads-gains": ["strategy", "gain_percent_mean", "machine", []],
  "threads-strategies": ["strategy", "gain_percent", "model", ["machine"]],
  search: ["method", "hypervolume", "space", []],
  "measured-runs": ["history_percent", "regret_median_percent", "policy", []],
};

/** The columns to start with, when they are there; else texts against numbers. */
export function startingView(table) {
  const numbers = numericColumns(table);
  const texts = table.columns.filter((column) => !numbers.includes(column));
  const [x, y, by, one] = known[table.name] ?? [];
  const has = (column) => column === null || table.columns.includes(column);
  if (y && [x, y, by].every(has) && numbers.includes(y)) return { x, y, by, one: one.filter(has) };
  const first = texts[0] ?? numbers[0];
  return { x: first, y: numbers.at(-1), by: texts.find((column) => column !== first) ?? null, one: [] };
}

/** Columns to choose a value of: those of which one is shown at a time, then the other texts, of which all are (""). */
export function filtersOf(table, { x, y, by, one }) {
  const numbers = new Set(numericColumns(table));
  const columns = [...one, ...table.columns.filter((column) => !numbers.has(column) && !one.includes(column))];
  return columns
    .filter((column) => ![x, y, by].includes(column))
    .map((column) => {
      const values = [...new Set(table.rows.map((row) => String(row[column] ?? "none")))];
      return { column, values, start: one.includes(column) ? values[0] : "" };
    })
    .filter(({ values }) => values.length > 1 && values.length <= 40);
}
