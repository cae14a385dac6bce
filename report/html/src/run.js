// The report of a run: policies side by side, then the first repetition's jobs in detail.
import { unpackTable } from "./data.js";
import { drillDown } from "./drill_down.js";
import { kindOf } from "./conclusions.js";
import { certificate, chosen, tradeOff, verdict } from "./first_screen.js";
import { gantt } from "./gantt.js";
import { slotsOf, usualYardsticks } from "./palette.js";
import { completionCurve, fates, moneyBars, moneyParts, savings } from "./policy_charts.js";
import { element, section } from "./page.js";
import { policyTable } from "./policy_table.js";
import { costAgainst, predictions } from "./scatter_charts.js";
import { busyOverTime, queueOverTime } from "./utilization_charts.js";

/** What the figures of a run share: its policies that ran, and the unpacked details. */
function contextOf({ summary, timing, tables }, detail) {
  const part = (name) => detail[name] && { ...unpackTable(detail[name].table), allRows: detail[name].all_rows };
  const same = { none: new Set(), all: new Set() };
  const names = summary.policies.map((p) => p.policy);
  const run = {
    summary,
    timing,
    tables: tables ?? [],
    policies: summary.policies.filter((p) => p.status === "ok"),
    names,
    places: slotsOf(names, summary.yardsticks ? [] : usualYardsticks), // of the colours
    left: same,
    // A figure says so that shows nothing, as all is equal; and a column, with its `value`.
    same: (text, value) => (/^\$?[0.]+( \S+)?$/.test(value ?? "") ? same.none.add(text) : same.all.add(value === undefined ? text : `${text} (${value})`)),
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
  return { ...run, kind: kindOf(run) };
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
  body.append(...wanted.map((figure) => figure.node)); // all of them: they share the width
  for (const figure of wanted) figure.update?.();
}

const parts = {
  configuration: [
    ["Cost and savings", (run) => [moneyBars(run), savings(run), moneyParts(run)]],
    ["Limits", (run) => [fates(run)]],
    ["Cost against limits", (run) => [costAgainst(run, "deadline_s"), costAgainst(run, "target_accuracy")]],
    ["Completion times", (run) => [completionCurve(run, "completion_s"), completionCurve(run, "waiting_s")]],
    ["Use of the cluster", (run) => [busyOverTime(run), queueOverTime(run), gantt(run)]],
    ["Predicted and actual", (run) => [predictions(run)]],
  ],
};
const part = (title) => parts.configuration.find(([name]) => name === title);
// Of a queue study the completion times are on the first screen.
parts.queue = [["Waiting times", (run) => [completionCurve(run, "waiting_s")]], ...["Use of the cluster", "Limits", "Cost and savings", "Cost against limits", "Predicted and actual"].map(part)];
parts.nodes = ["Use of the cluster", "Limits", "Completion times", "Cost against limits", "Predicted and actual"].map(part);

const firstFigures = {
  configuration: (run) => [tradeOff(run), chosen(run), certificate(run)],
  queue: (run) => [tradeOff(run), completionCurve(run, "completion_s"), chosen(run), certificate(run)],
  nodes: (run) => [tradeOff(run), moneyBars(run), moneyParts(run), chosen(run), certificate(run)],
};

export function renderRun(main, first, detail) {
  const run = contextOf(first, detail);
  main.append(...verdict(run));
  if (run.policies.length > 0) add(main, "At a glance", null, firstFigures[run.kind](run));
  main.append(section("Policies", ...policyTable(run)).node);
  const note = element("p", { class: "note", "data-same": "" });
  main.append(note);
  if (run.policies.length === 0) return;
  for (const [title, figures] of parts[run.kind]) add(main, title, null, figures(run));
  note.textContent = [["Left out, as it is the same everywhere", run.left.all], ["Nothing, under every policy", run.left.none]]
    .filter(([, texts]) => texts.size > 0).map(([what, texts]) => `${what}: ${[...texts].join("; ")}.`).join(" ");
  if (run.jobs) main.append(drillDown(run));
  if (run.missing.length > 0) main.append(section("What is not here", element("p", { class: "note" }, missingNote(run.missing))).node);
}
