// The report of a run: policies side by side, then the first repetition's jobs in detail.
import { unpackTable } from "./data.js";
import { drillDown } from "./drill_down.js";
import { gantt } from "./gantt.js";
import { completionCurve, fates, moneyBars, moneyParts, savings } from "./policy_charts.js";
import { element, section } from "./page.js";
import { policyTable } from "./policy_table.js";
import { costAgainst, predictions } from "./scatter_charts.js";
import { busyOverTime, queueOverTime } from "./utilization_charts.js";

/** What the figures of a run share: its policies that ran, and the unpacked details. */
function contextOf({ summary, timing, tables }, detail) {
  const part = (name) => detail[name] && { ...unpackTable(detail[name].table), allRows: detail[name].all_rows };
  return {
    summary,
    timing,
    tables: tables ?? [],
    policies: summary.policies.filter((p) => p.status === "ok"),
    names: summary.policies.map((p) => p.policy),
    pools: summary.pools ?? [],
    counted: detail.counted,
    sampled: detail.sampled === true,
    allJobs: detail.all_jobs,
    missing: detail.missing ?? [],
    utilization: detail.utilization && unpackTable(detail.utilization),
    jobs: part("jobs"),
    nodes: part("nodes"),
    decisions: part("decisions"),
    stages: part("stages"),
    predictions: part("predictions"),
  };
}

/** Files that the run did not write, and so what no figure was made of. */
export function missingNote(files) {
  return `These results have no ${files.join(", ")}: figures made from them are left out. "output" in the scenario chooses what a run writes.`;
}

function add(main, title, note, figures) {
  const wanted = figures.filter(Boolean);
  if (wanted.length === 0) return;
  const { node, body } = section(title, ...(note ? [note] : []));
  main.append(node);
  for (const figure of wanted) {
    body.append(figure.node);
    figure.update?.();
  }
}

export function renderRun(main, first, detail) {
  const run = contextOf(first, detail);
  const { node } = section("Policies", ...policyTable(run));
  main.append(node);
  if (run.policies.length === 0) return;
  add(main, "Cost and savings", null, [moneyBars(run), savings(run), moneyParts(run)]);
  add(main, "Limits", null, [fates(run)]);
  add(main, "Completion times", null, [completionCurve(run, "completion_s"), completionCurve(run, "waiting_s")]);
  add(main, "Use of the cluster", null, [busyOverTime(run), queueOverTime(run), gantt(run)]);
  add(main, "Cost against limits", null, [costAgainst(run, "deadline_s"), costAgainst(run, "target_accuracy")]);
  add(main, "Predicted and actual", null, [predictions(run)]);
  if (run.jobs) main.append(drillDown(run));
  if (run.missing.length > 0) main.append(section("What is not here", element("p", { class: "note" }, missingNote(run.missing))).node);
}
