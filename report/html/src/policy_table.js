// The table of policies: what the terminal shows, and what only summary.json had.
import { duration, money, number, percent, share } from "./format.js";
import { element, table } from "./page.js";

/** An estimate of summary.json as text, its 95 % interval behind it. `data-field` and `data-mean` are for those who check it. */
function estimate(row, field, show, { intervals = true, tone } = {}) {
  const value = row[field];
  if (!value) return "–";
  const { mean, ci95_low: low, ci95_high: high } = value;
  const node = element("span", { "data-policy": row.policy, "data-field": field, "data-mean": mean, class: tone?.(mean) }, show(mean));
  if (!intervals || low === null || low === undefined) return node;
  return element("span", {}, node, " ", element("span", { class: "interval" }, `[${show(low)}, ${show(high)}]`));
}

const below1 = (mean) => (mean !== null && mean < 1 ? "bad" : undefined);
const aboveZero = (mean) => (mean > 0 ? "bad" : undefined);

/** Lowest effective cost among the policies that fail the fewest jobs, as the terminal's verdict. */
export function bestPolicy(policies) {
  const fewest = Math.min(...policies.map((p) => p.jobs_failed?.mean ?? Infinity));
  const candidates = policies.filter((p) => p.jobs_failed?.mean === fewest && typeof p.effective_cost_usd?.mean === "number");
  return candidates.sort((a, b) => a.effective_cost_usd.mean - b.effective_cost_usd.mean)[0]?.policy;
}

export function policyTable({ summary, policies, timing }) {
  const best = bestPolicy(policies);
  const has = (field) => policies.some((p) => p[field] && p[field].mean !== null);
  const column = (label, field, show, options) => has(field) && { label, value: (row) => (row.status === "ok" ? estimate(row, field, show, options) : "") };
  const columns = [
    { label: "policy", value: (row) => row.policy },
    { label: "verdict", left: true, value: (row) => (row.status === "ok" ? (row.policy === best ? "lowest effective cost" : "") : element("span", { class: "bad" }, `failed: ${row.reason}`)) },
    column("cost", "cost_usd", money, { intervals: false }),
    column("effective cost", "effective_cost_usd", money),
    column("saving", "saving_percent", percent),
    column("effective saving", "effective_saving_percent", percent),
    column("limits broken", "limits_broken", number, { intervals: false, tone: aboveZero }),
    column("deadlines met", "deadline_met_fraction", share, { intervals: false, tone: below1 }),
    column("floors met", "accuracy_met_fraction", share, { intervals: false, tone: below1 }),
    column("jobs failed", "jobs_failed", number, { intervals: false, tone: aboveZero }),
    column("mean completion", "jct_mean_s", duration),
    column("95 % completion", "jct_p95_s", duration, { intervals: false }),
    column("makespan", "makespan_s", duration, { intervals: false }),
    column("utilisation", "utilization_fraction", share, { intervals: false }),
    column("energy", "energy_kwh", (kwh) => `${number(kwh)} kWh`, { intervals: false }),
    column("CO₂", "co2_kg", (kg) => `${number(kg)} kg`, { intervals: false }),
    column("profiling", "profiling_cost_usd", money, { intervals: false }),
    column("idle devices", "idle_cost_usd", money, { intervals: false }),
    column("error of time", "time_error_median", share, { intervals: false }),
    column("error of cost", "cost_error_median", share, { intervals: false }),
    column("mean regret", "regret_mean_usd", money, { intervals: false }),
    timing && { label: "policy took", value: (row) => duration(timing.policies.find((t) => t.policy === row.policy)?.decision_time_s / summary.repetitions) },
  ].filter(Boolean);
  return table(columns, summary.policies, "Policies side by side: means over repetitions, 95 % confidence intervals in brackets");
}
