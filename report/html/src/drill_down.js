// The jobs of the first repetition: a list to search and sort, and of the chosen job what each policy decided and what came of it.
import { csvText, download } from "./csv.js";
import { groupRows } from "./data.js";
import { deviation, duration, money, number, share } from "./format.js";
import { element, section, table } from "./page.js";

const pageLength = 12;

const time = (seconds) => (seconds === null ? "–" : duration(seconds));
const flag = (value) => (value === "false" ? element("span", { class: "bad" }, "no") : value === "true" ? "yes" : "–");

/** One entry a job: what it asks, and its row under each policy. */
export function jobsOf(jobs) {
  const entries = [...groupRows(jobs.job)].map(([job, rows]) => {
    const [first] = rows;
    const dearest = Math.max(...rows.map((row) => jobs.cost_usd?.[row] ?? 0));
    return {
      job,
      rows,
      user: jobs.user?.[first],
      model: jobs.model?.[first] ?? "measured",
      dataset: jobs.dataset?.[first],
      submit_s: jobs.submit_s?.[first],
      deadline_s: jobs.deadline_s?.[first],
      target_accuracy: jobs.target_accuracy?.[first],
      broken: rows.filter((row) => isBroken(jobs, row)).length,
      dearest,
    };
  });
  return entries.sort((a, b) => a.submit_s - b.submit_s);
}

export function isBroken(jobs, row) {
  return jobs.state?.[row] === "failed" || ["deadline_met", "accuracy_met", "cost_limit_met"].some((column) => jobs[column]?.[row] === "false");
}

const columns = [
  { key: "job", label: "job" },
  { key: "model", label: "model", left: true },
  { key: "submit_s", label: "submitted", show: time },
  { key: "deadline_s", label: "deadline", show: time },
  { key: "target_accuracy", label: "floor", show: (a) => share(a, 2) },
  { key: "broken", label: "policies that broke a limit", show: number },
  { key: "dearest", label: "highest cost", show: money },
];

export function drillDown(run) {
  const jobs = run.jobs;
  const list = jobsOf(jobs);
  const first = Math.max(0, list.findIndex((j) => j.broken > 0)); // the first that broke a limit, if any did
  const state = { sort: null, down: false, find: "", page: Math.floor(first / pageLength), job: list[first]?.job };
  const left = jobs.allRows > jobs.rows ? ` Of ${number(jobs.allRows)} rows of jobs.csv ${number(jobs.rows)} are here: ${number(list.length)} jobs, evenly spread over the dates of submission.` : "";
  const { node, body } = section("Job by job", element("p", { class: "note" }, `First repetition. Choose a job to see what each policy decided for it and what came of it.${left}`));
  const listing = element("div", { class: "wide" });
  const detail = element("div", { class: "wide", "aria-live": "polite" });
  body.append(listing, detail);
  const search = element("input", { type: "search", oninput: (event) => {
    Object.assign(state, { find: event.target.value.toLowerCase(), page: 0 });
    draw();
  } });
  const holder = element("div");
  listing.append(element("div", { class: "pages" }, element("label", {}, "Find ", search), csvButton(jobs)), holder);

  function choose(job) {
    state.job = job;
    draw();
    detail.replaceChildren(...jobDetail(run, list.find((j) => j.job === job)));
  }

  function draw() {
    const found = list.filter((j) => `${j.job} ${j.user ?? ""} ${j.model} ${j.dataset ?? ""}`.toLowerCase().includes(state.find));
    if (state.sort) found.sort(compare(state.sort, state.down));
    const pages = Math.max(1, Math.ceil(found.length / pageLength));
    state.page = Math.min(state.page, pages - 1);
    const shown = found.slice(state.page * pageLength, (state.page + 1) * pageLength);
    const turn = (by) => () => {
      state.page += by;
      draw();
    };
    holder.replaceChildren(
      jobTable(shown, state, draw, choose),
      element("div", { class: "pages" },
        element("button", { type: "button", disabled: state.page === 0, onclick: turn(-1) }, "Earlier"),
        `${number(state.page + 1)} of ${number(pages)}, ${number(found.length)} jobs`,
        element("button", { type: "button", disabled: state.page + 1 >= pages, onclick: turn(1) }, "Later")));
  }
  if (state.job !== undefined) choose(state.job);
  return node;
}

const compare = (key, down) => (a, b) => {
  const [x, y] = down ? [b[key], a[key]] : [a[key], b[key]];
  if (x === y) return 0;
  if (x === null || x === undefined) return 1;
  if (y === null || y === undefined) return -1;
  return x < y ? -1 : 1;
};

function csvButton(jobs) {
  const names = Object.keys(jobs).filter((name) => Array.isArray(jobs[name]));
  return element("button", { type: "button", onclick: () => download("jobs.csv", csvText(names, Array.from({ length: jobs.rows }, (_, r) => names.map((n) => jobs[n][r])))) }, "CSV");
}

function jobTable(shown, state, draw, choose) {
  const sortBy = (key) => () => {
    Object.assign(state, { down: state.sort === key && !state.down, sort: key, page: 0 });
    draw();
  };
  const head = columns.map(({ key, label, left }, i) => element("th", { scope: "col", class: left || i === 0 ? "left" : undefined,
    "aria-sort": state.sort === key ? (state.down ? "descending" : "ascending") : undefined },
  element("button", { type: "button", onclick: sortBy(key) }, `${label}${state.sort === key ? (state.down ? " ↓" : " ↑") : ""}`)));
  const rows = shown.map((job) => element("tr", { "aria-selected": job.job === state.job ? "true" : "false" },
    ...columns.map(({ key, show, left }, i) => i === 0
      ? element("th", { scope: "row", class: "left" }, element("button", { type: "button", onclick: () => choose(job.job) }, job.job))
      : element("td", { class: left ? "left" : undefined }, show ? show(job[key]) : job[key] ?? "–"))));
  return element("div", { class: "scroll", role: "region", "aria-label": "Jobs", tabindex: "0" },
    element("table", {}, element("caption", {}, "Jobs"), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
}

/** Rows of another file that belong to a job, in order. */
function rowsOf(part, job) {
  if (!part) return [];
  part.byJob ??= groupRows(part.job);
  return part.byJob.get(job) ?? [];
}

function jobDetail(run, job) {
  const { jobs, decisions, stages } = run;
  const facts = [job.user && `user ${job.user}`, [job.model, job.dataset].filter(Boolean).join(" on "), `submitted at ${time(job.submit_s)}`,
    job.deadline_s !== null && `deadline ${time(job.deadline_s)} after`, job.target_accuracy !== null && `floor ${share(job.target_accuracy, 2)}`].filter(Boolean);
  const started = (row) => {
    const own = rowsOf(decisions, job.job).filter((d) => decisions.policy[d] === jobs.policy[row] && decisions.decision[d] === "start");
    return own.at(-1);
  };
  const predicted = (row, column) => {
    const d = started(row);
    return d === undefined ? null : decisions[column]?.[d] ?? null;
  };
  const held = (row) => (jobs.end_s[row] !== null && jobs.start_s[row] !== null ? jobs.end_s[row] - jobs.start_s[row] : null);
  const pair = (expected, actual, show) => (expected === null ? show(actual) : `${show(actual)} (${deviation(expected, actual)})`);
  const outcome = table([
    { label: "policy", value: (r) => jobs.policy[r] },
    { label: "ended as", left: true, value: (r) => (jobs.state[r] === "failed" ? element("span", { class: "bad" }, `failed: ${jobs.reason?.[r] ?? ""}`) : jobs.state[r]) },
    { label: "ran on", left: true, value: (r) => (jobs.pool[r] ? `${number(jobs.workers[r])} × ${jobs.pool[r]}${jobs.batch_size?.[r] > 0 ? `, batch ${number(jobs.batch_size[r])}` : ""}` : "–") },
    { label: "waited to start", value: (r) => (jobs.start_s[r] === null ? "–" : time(jobs.start_s[r] - jobs.submit_s[r])) },
    { label: "start to end", value: (r) => pair(predicted(r, "predicted_time_s"), held(r), time) },
    { label: "epochs", value: (r) => number(jobs.epochs?.[r]) },
    { label: "accuracy", value: (r) => pair(predicted(r, "predicted_accuracy"), jobs.accuracy?.[r] ?? null, (a) => share(a, 2)) },
    { label: "cost", value: (r) => pair(predicted(r, "predicted_cost_usd"), jobs.cost_usd?.[r] ?? null, money) },
    { label: "deadline met", value: (r) => flag(jobs.deadline_met?.[r]) },
    { label: "floor met", value: (r) => flag(jobs.accuracy_met?.[r]) },
    { label: "preempted", value: (r) => number(jobs.preemptions?.[r]) },
    { label: "reconfigured", value: (r) => number(jobs.reconfigurations?.[r]) },
  ], job.rows, `What became of ${job.job}: in brackets, against what the policy predicted of the configuration that ran`);
  const parts = [element("h3", {}, job.job), element("p", { class: "note" }, `${facts.join(", ")}. In brackets: how far from what the policy predicted.`), outcome];
  const decided = rowsOf(decisions, job.job);
  if (decided.length > 0) parts.push(element("h3", {}, "Decisions"), decisionTable(decisions, decided, job.job));
  else if (decisions) parts.push(element("p", { class: "note" }, "The decisions for this job are in decisions.csv, not in this report."));
  const staged = rowsOf(stages, job.job);
  if (staged.length > job.rows.length) parts.push(element("h3", {}, "Stages"), stageTable(stages, staged, job.job));
  return parts;
}

function decisionTable(d, rows, job) {
  return table([
    { label: "policy", value: (r) => d.policy[r] },
    { label: "at", value: (r) => time(d.time_s[r]) },
    { label: "decision", left: true, value: (r) => (d.decision[r] === "configure" ? `menu, place ${number(d.rank[r] + 1)}` : d.decision[r]) },
    { label: "configuration", left: true, value: (r) => `${number(d.workers[r])} × ${d.pool[r]}${d.batch_size[r] > 0 ? `, batch ${number(d.batch_size[r])}` : ""}` },
    { label: "predicted time", value: (r) => time(d.predicted_time_s[r]) },
    { label: "predicted accuracy", value: (r) => share(d.predicted_accuracy[r], 2) },
    { label: "predicted cost", value: (r) => money(d.predicted_cost_usd[r]) },
    { label: "keeps limits", value: (r) => flag(d.feasible[r]) },
    { label: "extrapolated", value: (r) => (d.extrapolated[r] === "true" ? "yes" : "no") },
    { label: "note", left: true, value: (r) => element("div", { class: "wrap" }, d.note?.[r] ?? "") },
  ], rows, `Decisions for ${job}`);
}

function stageTable(s, rows, job) {
  return table([
    { label: "policy", value: (r) => s.policy[r] },
    { label: "stage", value: (r) => number(s.stage[r] + 1) },
    { label: "configuration", left: true, value: (r) => `${number(s.workers[r])} × ${s.pool[r]}${s.batch_size[r] > 0 ? `, batch ${number(s.batch_size[r])}` : ""}` },
    { label: "from", value: (r) => time(s.start_s[r]) },
    { label: "to", value: (r) => time(s.end_s[r]) },
    { label: "a step", value: (r) => time(s.step_s[r]) },
    { label: "accuracy", value: (r) => share(s.accuracy[r], 2) },
    { label: "cost", value: (r) => money(s.cost_usd[r]) },
    { label: "of that, switching", value: (r) => money(s.switch_cost_usd[r]) },
  ], rows, `Stages of ${job}`);
}
