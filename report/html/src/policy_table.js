// The table of policies: what differs between them, most telling first; the rest is folded.
import { apart, mean, standingOf } from "./conclusions.js";
import { duration, factor, money, number, percent, share } from "./format.js";
import { element, sample, table } from "./page.js";
import { onTheme, policyStyle, theme } from "./theme.js";

/** An estimate of summary.json as text, its 95 % interval behind it. `data-field` and `data-mean` are for those who check it. */
function estimate(row, { field, show, intervals, tone, over }) {
  const value = row[field];
  if (!value) return "–";
  const { mean: at, ci95_low: low, ci95_high: high } = value;
  const node = element("span", { "data-policy": row.policy, "data-field": field, "data-mean": at, class: tone?.(at) }, show(at));
  const count = over ? mean(row, over) : null;
  const some = count !== null && count < mean(row, "jobs") ? ` (${number(count)})` : ""; // over so many jobs, not over all
  if (!intervals || low === null || low === undefined || show(low) === show(high)) return element("span", {}, node, some);
  return element("span", {}, node, some, " ", element("span", { class: "interval" }, `[${show(low)}, ${show(high)}]`));
}

const below1 = (value) => (value !== null && value < 1 ? "bad" : undefined);
const aboveZero = (value) => (value > 0 ? "bad" : undefined);
const with95 = { intervals: true };
const kwh = (value) => `${number(value)} kWh`;
const hours = (value) => `${number(value)} device-h`;

/** Quantities of summary.json as columns. */
const quantities = [
  ["cost", "cost_usd", money],
  ["effective cost", "effective_cost_usd", money, with95],
  ["saving", "effective_saving_percent", percent, with95],
  ["saving where both keep limits", "saving_percent", percent, with95],
  ["limits broken", "limits_broken", number, { tone: aboveZero }],
  ["deadlines kept", "deadline_met_fraction", share, { tone: below1 }],
  ["floors kept", "accuracy_met_fraction", share, { tone: below1 }],
  ["mean completion", "jct_mean_s", duration, { over: "jobs_completed" }],
  ["median completion", "jct_p50_s", duration],
  ["95 % completion", "jct_p95_s", duration],
  ["99 % completion", "jct_p99_s", duration],
  ["speed-up", "jct_speedup", factor, { ...with95, over: "speedup_jobs" }],
  ["mean waiting", "waiting_mean_s", duration],
  ["slowdown", "bounded_slowdown_mean", factor, { over: "slowdown_jobs" }],
  ["worst fairness", "fairness_rho_worst", factor, { over: "fairness_jobs" }],
  ["treated unfairly", "fairness_rho_above_1_fraction", share],
  ["makespan", "makespan_s", duration],
  ["utilisation", "utilization_fraction", share],
  ["utilisation while work waits", "utilization_waiting_fraction", share],
  ["goodput", "goodput_fraction", share],
  ["preemptions", "preemptions", number],
  ["time of preemptions", "preemption_s", duration],
  ["reconfigurations", "reconfigurations", number],
  ["jobs failed", "jobs_failed", number, { tone: aboveZero }],
  ["jobs rejected", "jobs_rejected", number],
  ["found infeasible", "jobs_infeasible", number],
  ["lost", "cost_lost_usd", money],
  ["lost training", "lost_device_h", hours],
  ["start-up and checkpoints", "cost_switch_usd", money],
  ["checkpoints", "checkpoints", number],
  ["writing checkpoints", "cost_checkpoint_usd", money],
  ["restarts", "restarts", number],
  ["energy", "energy_kwh", kwh],
  ["CO₂", "co2_kg", (kg) => `${number(kg)} kg`],
  ["profiling", "profiling_cost_usd", money],
  ["idle devices", "idle_cost_usd", money],
  ["error of time", "time_error_median", share],
  ["error of cost", "cost_error_median", share],
  ["mean regret", "regret_mean_usd", money],
];

/** What stands in the table, in this order, as far as it differs. */
const telling = {
  configuration: ["effective_cost_usd", "effective_saving_percent", "cost_usd", "limits_broken", "deadline_met_fraction", "accuracy_met_fraction", "jct_mean_s", "goodput_fraction"],
  queue: ["jct_mean_s", "jct_p50_s", "jct_p95_s", "jct_p99_s", "jct_speedup", "waiting_mean_s", "bounded_slowdown_mean", "fairness_rho_worst", "deadline_met_fraction", "jobs_failed", "makespan_s", "preemptions"],
  nodes: ["cost_usd", "cost_lost_usd", "cost_switch_usd", "goodput_fraction", "preemptions", "restarts", "checkpoints", "jct_mean_s", "makespan_s", "limits_broken"],
};

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
  const known = new Map((run.tables ?? []).flatMap((t) => t.columns.map((column) => [column.field, column])));
  const all = quantities.filter(([, field]) => policies.some((p) => mean(p, field) !== null)).map(([label, field, show, more]) => ({
    label, field, show, ...more,
    doc: known.get(field) && `${field}: ${known.get(field).doc}`,
    text: (row) => show(mean(row, field)),
  }));
  const columnOf = (column) => ({ ...column, value: (row) => (row.status === "ok" ? estimate(row, column) : "") });
  const order = telling[run.kind];
  const { differ, same } = apart(all, policies);
  const main = order.map((field) => differ.find((c) => c.field === field)).filter(Boolean);
  const rest = all.filter((c) => !main.includes(c));
  const policy = { label: "policy", value: (row) => named(run, row.policy) };
  const failed = (row) => element("span", { class: "bad" }, `failed: ${row.reason}`);
  const standing = { label: "verdict", left: true, value: (row) => element("div", { class: "wrap" }, row.status === "ok" ? standingOf(summary, row.policy) : failed(row)) };
  const took = timing && { label: "policy took", value: (row) => duration(timing.policies.find((t) => t.policy === row.policy)?.decision_time_s / summary.repetitions) };
  const hasStanding = summary.policies.some((row) => row.status !== "ok" || standingOf(summary, row.policy) !== "");
  for (const { column, text } of policies.length > 1 ? same : []) if (text !== "–") run.same(`${column.label} (${text})`);
  const folded = [policy, ...rest.map(columnOf), took].filter(Boolean);
  return [
    table([policy, hasStanding && standing, ...main.map(columnOf)].filter(Boolean), summary.policies, "Policies side by side: means over repetitions, 95 % confidence intervals in brackets"),
    folded.length > 1 && policies.length > 0 ? element("details", {}, element("summary", {}, `${number(folded.length - 1)} more quantities`), table(folded, policies, "The other quantities of summary.json")) : null,
    element("p", { class: "note" }, `Means over repetitions${summary.repetitions > 1 ? "; in brackets 95 % confidence intervals" : ""}. Every column is defined in docs/reference/metrics.md.`),
  ].filter(Boolean);
}
