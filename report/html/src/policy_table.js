// The table of policies: what the terminal shows, and what only summary.json had.
import { standingOf } from "./data.js";
import { duration, factor, money, number, percent, share } from "./format.js";
import { element, table } from "./page.js";

/** An estimate of summary.json as text, its 95 % interval behind it. `data-field` and `data-mean` are for those who check it. */
function estimate(row, field, show, { intervals = true, tone } = {}) {
  const value = row[field];
  if (!value) return "–";
  const { mean, ci95_low: low, ci95_high: high } = value;
  const node = element("span", { "data-policy": row.own_name, "data-field": field, "data-mean": mean, class: tone?.(mean) }, show(mean));
  if (!intervals || low === null || low === undefined) return node;
  return element("span", {}, node, " ", element("span", { class: "interval" }, `[${show(low)}, ${show(high)}]`));
}

const shows = { number, energy: number, money, percent: share, duration, factor };

/** A column as the program's table of quantities has it; "(n)" behind a value that is over n jobs and not over all. */
function metricColumn({ field, label, doc, shown, over }) {
  return {
    label,
    doc: `${field}: ${doc}`,
    value: (row) => {
      const count = over ? row[over]?.mean : undefined;
      const some = typeof count === "number" && count < row.jobs?.mean ? ` (${number(count)})` : "";
      return element("span", {}, estimate(row, field, shows[shown] ?? number, { intervals: field === "jct_speedup" }), some);
    },
  };
}

const below1 = (mean) => (mean !== null && mean < 1 ? "bad" : undefined);
const aboveZero = (mean) => (mean > 0 ? "bad" : undefined);

export function policyTable({ summary, policies, timing, tables }) {
  const has = (field) => policies.some((p) => p[field] && p[field].mean !== null);
  const column = (label, field, show, options) => has(field) && { label, field, value: (row) => (row.status === "ok" ? estimate(row, field, show, options) : "") };
  const policy = { label: "policy", value: (row) => row.policy };
  const single = { intervals: false };
  const inTables = new Set(tables.flatMap((t) => t.columns.map((c) => c.field)));
  const main = [
    policy,
    { label: "verdict", left: true, value: (row) => (row.status === "ok" ? standingOf(summary.verdict, row.own_name) : element("span", { class: "bad" }, `failed: ${row.reason}`)) },
    column("cost", "cost_usd", money, single),
    column("effective cost", "effective_cost_usd", money),
    column("saving", "effective_saving_percent", percent),
    column("limits broken", "limits_broken", number, { ...single, tone: aboveZero }),
    column("deadlines met", "deadline_met_fraction", share, { ...single, tone: below1 }),
    column("floors met", "accuracy_met_fraction", share, { ...single, tone: below1 }),
    column("mean completion", "jct_mean_s", duration, single),
  ].filter((c) => c && !inTables.has(c.field));
  const more = [
    policy,
    column("saving where both keep limits", "saving_percent", percent),
    column("share of the jobs", "both_keep_limits_fraction", share, single),
    column("jobs failed", "jobs_failed", number, { ...single, tone: aboveZero }),
    column("95 % completion", "jct_p95_s", duration, single),
    column("makespan", "makespan_s", duration, single),
    column("utilisation", "utilization_fraction", share, single),
    column("energy", "energy_kwh", (kwh) => `${number(kwh)} kWh`, single),
    column("CO₂", "co2_kg", (kg) => `${number(kg)} kg`, single),
    column("profiling", "profiling_cost_usd", money, single),
    column("idle devices", "idle_cost_usd", money, single),
    column("error of time", "time_error_median", share, single),
    column("error of cost", "cost_error_median", share, single),
    column("mean regret", "regret_mean_usd", money, single),
    timing && { label: "policy took", value: (row) => duration(timing.policies.find((t) => t.policy === row.policy)?.decision_time_s / summary.repetitions) },
  ].filter((c) => c && !inTables.has(c.field));
  const ran = summary.policies.filter((p) => p.status === "ok");
  const metrics = (queue) => tables.filter((t) => t.queue === queue && ran.length > 0 && t.columns.length > 0)
    .map((t) => table([policy, ...t.columns.map(metricColumn)], ran, "Means over repetitions"));
  return [
    summary.verdict && element("p", { class: "verdict" }, summary.verdict.sentence),
    ...metrics(true),
    table(main, summary.policies, "Policies side by side: means over repetitions, 95 % confidence intervals in brackets"),
    ...metrics(false),
    ran.length > 0 && more.length > 1 ? table(more, ran, "More of the same") : null,
    element("p", { class: "note" }, "Means over repetitions; in brackets 95 % confidence intervals. Every column is defined in docs/reference/metrics.md."),
  ].filter(Boolean);
}
