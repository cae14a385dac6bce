// The table of policies: what differs between them, most telling first, as the terminal calls it; the rest is folded.
import { apart, mean, standingOf } from "./conclusions.js";
import { duration, factor, money, number, percent, share } from "./format.js";
import { element, sample, table } from "./page.js";
import { onTheme, policyStyle, theme } from "./theme.js";

/** An estimate of summary.json as text, its 95 % interval behind it. `data-field` and `data-mean` are for those who check it. */
function estimate(row, { field, show, intervals, tone, over }) {
  const value = row[field];
  if (!value) return "–";
  const { mean: at, ci95_low: low, ci95_high: high } = value;
  const node = element("span", { "data-policy": row.own_name, "data-field": field, "data-mean": at, class: tone?.(at) }, show(at));
  const count = over ? mean(row, over) : null;
  const some = count !== null && count < mean(row, "jobs") ? ` (${number(count)})` : ""; // over so many jobs, not over all
  if (!intervals || low === null || low === undefined || show(low) === show(high)) return element("span", {}, node, some);
  return element("span", {}, node, some, " ", element("span", { class: "interval" }, `[${show(low)}, ${show(high)}]`));
}

const below1 = (value) => (value !== null && value < 1 ? "bad" : undefined);
const aboveZero = (value) => (value > 0 ? "bad" : undefined);
const with95 = { intervals: true };
const neverOr = (show) => (value) => (value === null ? "never" : show(value)); // quantiles count jobs that failed as never done
const shows = { number, energy: number, money, percent: share, duration, factor };

/** What the program's tables do not show, or not of this kind of study. */
const others = [
  ["cost", "cost_usd", money],
  ["effective cost", "effective_cost_usd", money],
  ["saving", "effective_saving_percent", percent],
  ["where both keep limits", "saving_percent", percent],
  ["share of the jobs", "both_keep_limits_fraction", share],
  ["limits broken", "limits_broken", number],
  ["deadlines", "deadline_met_fraction", share],
  ["floors", "accuracy_met_fraction", share],
  ["mean JCT", "jct_mean_s", duration],
  ["p95 JCT", "jct_p95_s", duration],
  ["makespan", "makespan_s", duration],
  ["utilization", "utilization_fraction", share],
  ["goodput", "goodput_fraction", share],
  ["preemptions", "preemptions", number],
  ["reconf.", "reconfigurations", number],
  ["failed", "jobs_failed", number],
  ["found infeasible", "jobs_infeasible", number],
  ["lost, $", "cost_lost_usd", money],
  ["start-up and checkpoints", "cost_switch_usd", money],
  ["energy, kWh", "energy_kwh", number],
  ["CO₂, kg", "co2_kg", number],
  ["profiling", "profiling_cost_usd", money],
  ["idle devices", "idle_cost_usd", money],
  ["time error", "time_error_median", share],
  ["cost error", "cost_error_median", share],
  ["mean regret", "regret_mean_usd", money],
];

const more = {
  effective_cost_usd: with95, effective_saving_percent: with95, saving_percent: with95, jct_speedup: with95,
  limits_broken: { tone: aboveZero }, jobs_failed: { tone: aboveZero }, deadline_met_fraction: { tone: below1 }, accuracy_met_fraction: { tone: below1 },
};

/** What stands in the table of a kind of study, in this order, as far as it differs. */
const telling = {
  configuration: ["effective_cost_usd", "effective_saving_percent", "cost_usd", "limits_broken", "deadline_met_fraction", "accuracy_met_fraction", "jct_mean_s"],
  queue: ["jct_mean_s", "jct_p50_s", "jct_p95_s", "jct_p99_s", "jct_speedup", "waiting_mean_s", "bounded_slowdown_mean", "fairness_rho_worst", "deadline_met_fraction", "jobs_failed", "makespan_s", "preemptions"],
  nodes: ["cost_usd", "cost_lost_usd", "cost_switch_usd", "goodput_fraction", "preemptions", "restarts", "checkpoints", "jct_mean_s", "makespan_s", "limits_broken"],
};

/** { label, field, show, over, doc } of each quantity once: those of the program's tables as these have them. */
export function quantitiesOf(tables) {
  const found = new Map();
  for (const { columns } of tables)
    for (const { field, label, doc, shown, over } of columns)
      found.set(field, { label, field, show: /^jct_p\d+_s$/.test(field) ? neverOr(duration) : shows[shown] ?? number, over: over || undefined, doc: `${field}: ${doc}`, ...more[field] });
  for (const [label, field, show] of others) if (!found.has(field)) found.set(field, { label, field, show, ...more[field] });
  return [...found.values()];
}

/** The fields in the order of the table: of the report's kind, then of what else the study is about. */
export const tellingOf = (kind, kinds) => [...new Set([kind, ...kinds].flatMap((name) => telling[name] ?? []))];

/** A policy's name, with a sample of its colour. */
function named(run, policy) {
  const holder = element("span", { class: "named" });
  const draw = () => {
    const { colour, symbol, hollow } = policyStyle(theme(), run.places, policy);
    holder.replaceChildren(sample({ colour, symbol, hollow }), " ", policy);
  };
  onTheme(draw);
  draw();
  return holder;
}

export function policyTable(run) {
  const { summary, policies, timing } = run;
  const all = quantitiesOf(run.tables).filter(({ field }) => policies.some((p) => mean(p, field) !== null))
    .map((quantity) => ({ ...quantity, text: (row) => quantity.show(mean(row, quantity.field)) }));
  const columnOf = (column) => ({ ...column, value: (row) => (row.status === "ok" ? estimate(row, column) : "") });
  const { differ, same } = apart(all, policies);
  const main = tellingOf(run.kind, summary.kinds ?? []).map((field) => differ.find((c) => c.field === field)).filter(Boolean);
  const rest = all.filter((c) => !main.includes(c));
  const policy = { label: "policy", value: (row) => named(run, row.policy) };
  const failed = (row) => element("span", { class: "bad" }, `failed: ${row.reason}`);
  const standing = { label: "verdict", left: true, value: (row) => element("div", { class: "wrap" }, row.status === "ok" ? standingOf(summary, row.own_name) : failed(row)) };
  const took = timing && { label: "policy took", value: (row) => duration(timing.policies.find((t) => t.policy === row.policy)?.decision_time_s / summary.repetitions) };
  const hasStanding = summary.policies.some((row) => row.status !== "ok" || !["", "reference"].includes(standingOf(summary, row.own_name)));
  for (const { column, text } of policies.length > 1 ? same : []) if (text !== "–") run.same(column.label, text);
  const folded = [policy, ...rest.map(columnOf), took].filter(Boolean);
  return [
    table([policy, hasStanding && standing, ...main.map(columnOf)].filter(Boolean), summary.policies, "Policies side by side: means over repetitions, 95 % confidence intervals in brackets"),
    folded.length > 1 && policies.length > 0 ? element("details", {}, element("summary", {}, `${number(folded.length - 1)} more quantities`), table(folded, policies, "The other quantities of summary.json")) : null,
    element("p", { class: "note" }, `Means over repetitions${summary.repetitions > 1 ? "; in brackets 95 % confidence intervals" : ""}. Every column is defined in docs/reference/metrics.md.`),
  ].filter(Boolean);
}
