// The HTML report in headless Chromium: nothing on the console, every figure drawn, the numbers of summary.json.
// Usage: node browser_test.mjs PROGRAM SOURCE_DIR; exit status 77 without Chromium, or when the program has no report.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { duration, money, number, percent, share } from "../../../report/html/src/format.js";
import { browser, elements, load } from "./browser.mjs";

const [program, source] = process.argv.slice(2);
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "report-test-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

function rehearse(...args) {
  const ended = spawnSync(program, args, { cwd: scratch, encoding: "utf8" });
  assert.equal(ended.status, 0, ended.stderr);
}

function run(name, scenario, ...more) {
  rehearse("run", scenario, "--out", name, ...more);
  return path.join(scratch, name);
}

function write(name, scenario) {
  fs.writeFileSync(path.join(scratch, name), JSON.stringify(scenario));
  return path.join(scratch, name);
}

/** Loads a folder's report: no word on the console, all figures drawn. */
function loaded(folder, ...more) {
  const page = load(path.join(folder, "report.html"), more);
  assert.deepEqual(page.console, []);
  assert.match(page.whole, /<html[^>]* data-ready="true"/);
  const figures = elements(page.dom, "data-figure");
  assert.deepEqual(figures.filter((f) => f["data-drawn"] !== "true").map((f) => f["data-figure"]), []);
  return { ...page, figures: figures.map((f) => f["data-figure"]) };
}

/**
 * What `script` (the body of an async function) returns in the page once it has been drawn. The page forbids scripts of others: this
 * is a copy that does not.
 */
function probed(folder, script, ...more) {
  const page = fs.readFileSync(path.join(folder, "report.html"), "utf8").replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "");
  const probe = `<script>(async () => {
    while (document.documentElement.dataset.ready !== "true") await new Promise((next) => setTimeout(next, 20));
    const found = await (async () => { ${script} })();
    document.documentElement.setAttribute("data-found", encodeURIComponent(JSON.stringify(found)));
  })();</script>`;
  const file = path.join(folder, "probed.html");
  fs.writeFileSync(file, page.replace("</body>", () => `${probe}</body>`));
  const { whole } = load(file, more);
  return JSON.parse(decodeURIComponent(/<html[^>]* data-found="([^"]*)"/.exec(whole)[1]));
}

/** What sticks out of the window, or is cut off where nothing scrolls. */
const clipped = `
  const inside = (node) => node.closest(".scroll, .bar");
  const shown = [...document.querySelectorAll("body *")].filter((node) => node.getClientRects().length > 0 && !inside(node) && !node.closest("caption"));
  return { sideways: document.documentElement.scrollWidth - innerWidth,
    out: shown.filter((node) => node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.tagName + " " + (node.textContent ?? "").slice(0, 40)) };`;

const sections = (page) => [...page.dom.matchAll(/<h2>([^<]*)<\/h2>/g)].map(([, title]) => title);

if (!browser) skip("Chromium is not installed");
// On one V100 a job waits and misses its deadline: no figure is empty.
const quickstart = run("quickstart", path.join(source, "scenarios/quickstart.json"), "--set", "/cluster/pools/1/nodes=1");
if (!fs.existsSync(path.join(quickstart, "report.html"))) skip("the program was built without the HTML report");

const shownAs = { cost_usd: money, effective_cost_usd: money, saving_percent: percent, effective_saving_percent: percent, both_keep_limits_fraction: share, limits_broken: number,
  deadline_met_fraction: share, accuracy_met_fraction: share, jobs_failed: number, jct_mean_s: duration, jct_p95_s: duration,
  makespan_s: duration, utilization_fraction: share, energy_kwh: number, profiling_cost_usd: money,
  goodput_fraction: share, preemptions: number, reconfigurations: number, jobs_infeasible: number, cost_lost_usd: money, cost_switch_usd: money,
  idle_cost_usd: money, time_error_median: share, cost_error_median: share, regret_mean_usd: money };

const tests = {
  "a run: every figure, and the numbers of summary.json"() {
    const page = loaded(quickstart);
    assert.deepEqual(page.figures, ["Trade-off", "What each policy chose", "Cost of each policy", "Saving against manual", "What the money bought",
      "Limits kept and broken", "Cost against deadline", "Cost against accuracy floor", "Completion times", "Waiting times", "Devices in use",
      "Jobs waiting", "Jobs on nodes", "Predicted and actual"]);
    const { policies } = JSON.parse(fs.readFileSync(path.join(quickstart, "summary.json"), "utf8"));
    const shown = elements(page.dom, "data-mean");
    for (const policy of policies)
      for (const [field, show] of Object.entries(shownAs)) {
        const cell = shown.find((s) => s["data-policy"] === policy.policy && s["data-field"] === field);
        assert.ok(cell, `${policy.policy}: ${field} is shown`);
        if (policy[field].mean !== null) assert.equal(Number(cell["data-mean"]), policy[field].mean, `${policy.policy}: ${field}`);
        assert.equal(cell.text, show(policy[field].mean), `${policy.policy}: ${field}`);
      }
    assert.equal(shown.length, policies.length * Object.keys(shownAs).length);
  },

  "names that look like markup stay text"() {
    const names = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- --> ]]> &lt;b&gt;", "quotes ' \" ` ${0}", "🚂 emoji, comma", "@rehearse-detail@"];
    const folder = run("hostile", write("hostile.json", {
      name: "hostile", description: "</script><b>bold</b> & <!-- a comment", seed: 1,
      cluster: { pools: [{ name: "p<i>", instance: "p2.xlarge", nodes: 8 }] },
      jobs: names.map((job_id, i) => ({ job_id, user: job_id, submit_s: i, gpus: 1, duration_s: 100 + i, deadline_s: 1000 })),
      policies: [{ name: "<style>first", configure: "manual" }, { name: "manual" }], baseline: "manual" }));
    const page = loaded(folder);
    assert.doesNotMatch(page.dom, /<img|<b>|<i>|alert\(1\)<\/script>/);
    assert.equal([...page.whole.matchAll(/<script/g)].length - [...page.whole.matchAll(/[^>]<\/script>/g)].length, 0);
    const cells = [...page.dom.matchAll(/<button type="button">([^<]*)<\/button><\/th>/g)].map(([, text]) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"));
    for (const name of names) assert.ok(cells.includes(name), name);
  },

  "a folder with its summary alone, and one whose files have lost columns"() {
    const bare = path.join(scratch, "bare");
    fs.mkdirSync(bare);
    fs.copyFileSync(path.join(quickstart, "summary.json"), path.join(bare, "summary.json"));
    rehearse("report", "bare");
    assert.deepEqual(loaded(bare).figures, ["Trade-off", "Cost of each policy", "Saving against manual", "What the money bought"]);
    const poor = path.join(scratch, "poor");
    fs.cpSync(bare, poor, { recursive: true });
    const [head, ...rows] = fs.readFileSync(path.join(quickstart, "jobs.csv"), "utf8").trim().split("\n").map((line) => line.split(","));
    const kept = ["policy", "repetition", "job", "submit_s", "end_s", "state"].map((name) => head.indexOf(name));
    fs.writeFileSync(path.join(poor, "jobs.csv"), [head, ...rows].map((row) => kept.map((at) => row[at]).join(",")).join("\n"));
    rehearse("report", "poor");
    assert.ok(loaded(poor).figures.includes("Completion times"));
  },

  "what a run did not write is named, and its figures left out"() {
    const page = loaded(run("unwritten", path.join(source, "scenarios/quickstart.json"), "--set", '/output={"jobs": "none", "nodes": "none", "stages": false}'));
    assert.match(page.dom, /These results have no jobs\.csv, nodes\.csv, stages\.csv: figures made from them are left out/);
    assert.ok(!page.figures.includes("Completion times") && page.figures.includes("Devices in use"), page.figures.join(", "));
  },

  "more than 10,000 jobs: the same figures, of all jobs or an even sample"() {
    const rows = Array.from({ length: 10500 }, (_, i) => `j${i},${30 * i},1,${60 + (i * 7919) % 3000},7200`);
    fs.writeFileSync(path.join(scratch, "many.csv"), ["job_id,submit_s,gpus,duration_s,deadline_s", ...rows].join("\n"));
    const page = loaded(run("many", write("many.json", { cluster: { pools: [{ name: "v", instance: "p3.16xlarge", nodes: 6 }] },
      jobs: [{ trace: "many.csv" }], policies: [{ name: "fifo" }, { name: "sjf", queue: "sjf" }] })));
    for (const figure of ["Completion times", "Jobs on nodes", "Cost against deadline"]) assert.ok(page.figures.includes(figure), figure);
    assert.match(page.dom, /Of 21,000 rows of jobs\.csv 20,000 are here: 10,000 jobs, evenly spread over the dates of submission/);
    assert.match(page.dom, /A point for each job of an even sample of the first repetition/);
    assert.match(page.dom, /Left out, as it is the same everywhere: [^<]*predictions/); // what a trace measured is what comes
  },

  "a policy that failed is a row, and the rest is there"() {
    const folder = path.join(scratch, "failed");
    fs.cpSync(quickstart, folder, { recursive: true });
    const file = path.join(folder, "summary.json");
    const summary = JSON.parse(fs.readFileSync(file, "utf8"));
    summary.policies[1] = { policy: summary.policies[1].policy, status: "failed", reason: "it <b>broke</b>" };
    fs.writeFileSync(file, JSON.stringify(summary, null, 2));
    fs.rmSync(path.join(folder, "manifest.json")); // which has the sums of the files as they were
    rehearse("report", "failed");
    assert.match(loaded(folder).dom, /failed: it &lt;b&gt;broke&lt;\/b&gt;/);
  },

  "a study: its tables, charts and pictures"() {
    const folder = run("frontier", path.join(source, "scenarios/configure/frontier.json"), "--set", '/study={"name": "frontier", "accuracy_slack": [0.02], "deadline_factors": [0.5, 1, 2]}');
    const page = loaded(folder);
    assert.deepEqual(sections(page).slice(0, 3), ["Policies over all points", "Savings of one policy over another", "Cost against deadline and accuracy floor"]);
    assert.match(page.dom, /data-verdict="study">[^<]* saves most: /);
    assert.equal(page.figures.filter((f) => f.startsWith("Cost against deadline: ")).length, 2); // a chart a job
    assert.match(page.dom, /The same in every row: /);
    const characterised = loaded(run("characterised", path.join(source, "scenarios/configure/characterise.json"), "--set", '/study={"name": "characterise", "workers": [1, 2], "batch_factors": [1, 2], "accuracy_slack": [0.02], "deadline_factors": [1]}'));
    assert.ok(characterised.figures.some((f) => f.startsWith("Cost by resources and batch size: ")));
    const placed = loaded(run("placed", write("placed.json", { name: "placed", seed: 1,
      cluster: { pools: [{ name: "k80", instance: "p2.8xlarge", nodes: 1 }] },
      study: { name: "placement", graphs: [{ model: "resnet18", batch: 64 }], machines: [{ pool: "k80", gpus: 2 }], methods: ["heft"] } })));
    assert.deepEqual(placed.figures, ["Step by method", "Placement of resnet18 on 2 × k80 (makespan)", "One step of resnet18 on 2 × k80 (makespan)"]);
    assert.match(placed.dom, /heft has the shortest step in 1 of 1 case/);
  },

  "the first screen: the verdict in a sentence, the trade-off, the choices, and how firm the verdict is"() {
    const folder = run("firm", path.join(source, "scenarios/quickstart.json"), "--certify");
    const page = loaded(folder);
    const { verdict, certificate } = JSON.parse(fs.readFileSync(path.join(folder, "summary.json"), "utf8"));
    assert.deepEqual(elements(page.dom, "data-verdict").map((e) => [e["data-verdict"], e.text]), [[verdict.outcome, verdict.sentence]]);
    assert.deepEqual(page.figures.slice(0, 3), ["Trade-off", "What each policy chose", "How firm the verdict is"]);
    assert.deepEqual(elements(page.dom, "data-choice").map((e) => e["data-choice"]), ["pool", "workers", "batch_size"]);
    assert.ok(certificate.changes.length > 0);
    assert.deepEqual(elements(page.dom, "data-change").map((e) => [e["data-change"], Number(e["data-holds"]), e["data-falls"]]).sort(),
      certificate.changes.map((c) => [c.quantity, c.holds_to, c.falls_at === null ? "" : String(c.falls_at)]).sort());
    // All keep all limits and no queue is ever there: said in a line, not drawn.
    assert.match(page.dom, /Left out, as it is the same everywhere: [^<]*what became of the jobs[^<]*jobs waiting/);
    for (const figure of ["Limits kept and broken", "Jobs waiting"]) assert.ok(!page.figures.includes(figure), figure);
  },

  "a study of queues begins with completion times, one of failures with what is lost; the Gantt shows both"() {
    const queues = run("queues", path.join(source, "scenarios/cluster/priority.json"), "--set", "/repetitions=1");
    const page = loaded(queues);
    assert.deepEqual(page.figures.slice(0, 2), ["Trade-off", "Completion times"]);
    // srtf has the shortest mean, over the jobs that it finishes: one fewer than fifo, so that it does not win.
    const { verdict, completion_verdict: completion } = JSON.parse(fs.readFileSync(path.join(queues, "summary.json"), "utf8"));
    assert.match(completion.sentence, /priority-polite has the shortest mean completion time: .*; srtf.* finish fewer jobs and are not compared\./);
    assert.deepEqual(elements(page.dom, "data-completion-verdict").map((e) => e.text.replace(/\s+/g, " ")), [completion.sentence.replace(/\s+/g, " ")]);
    assert.deepEqual(elements(page.dom, "data-verdict").map((e) => e.text), [`By money: ${verdict.sentence}`]);
    assert.match(page.dom, /data-policy="srtf" data-field="jct_p99_s">never</);
    assert.deepEqual(sections(page).slice(0, 4), ["At a glance", "Policies", "Waiting times", "Use of the cluster"]);
    assert.ok(!page.figures.includes("What each policy chose")); // the same for all
    const marks = (policy) => probed(queues, `
      const figure = document.querySelector('[data-figure="Jobs on nodes"]');
      const choice = figure.querySelector("select");
      choice.value = "${policy}";
      choice.dispatchEvent(new Event("change"));
      return [figure.querySelector("[data-marks]").dataset.marks, figure.querySelector("[data-marks]").textContent];`);
    assert.deepEqual(marks("fifo")[0], "");
    assert.deepEqual(marks("srtf")[0], "failed preempted"); // one job by its time limit
    assert.match(marks("fifo")[1], /waiting/);
    const failures = loaded(run("failures", path.join(source, "scenarios/cluster/failures.json"), "--set", "/repetitions=1"));
    assert.equal(failures.figures[0], "What the money bought");
    assert.deepEqual(elements(failures.dom, "data-marks").map((e) => e["data-marks"]), ["lost"]);
  },

  "a legend works by keyboard: its buttons hide and show a series, and keep the focus"() {
    const [first, second] = probed(quickstart, `
      const key = () => document.querySelector('[data-figure="Trade-off"] [data-key="oracle (yardstick)"]');
      const state = () => [key().tagName, key().tabIndex, key().getAttribute("aria-pressed"), document.activeElement === key()];
      key().focus();
      key().click(); // what Enter and Space do to a button
      const hidden = state();
      key().click();
      return [hidden, state()];`);
    assert.deepEqual([first, second], [["BUTTON", 0, "false", true], ["BUTTON", 0, "true", true]]);
  },

  "nothing is clipped at 1400, 1000 and 390 px"() {
    for (const width of [1400, 1000, 390])
      for (const folder of [quickstart, path.join(scratch, "frontier"), path.join(scratch, "placed")])
        assert.deepEqual(probed(folder, clipped, `--window-size=${width},900`), { sideways: 0, out: [] }, `${folder} at ${width} px`);
  },

  "a narrow page, and dark ones"() {
    for (const flag of ["--window-size=380,800", "--force-dark-mode", "--blink-settings=preferredColorScheme=0"]) loaded(quickstart, flag);
  },
};

let failures = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    test();
    console.log(`ok: ${name}`);
  } catch (error) {
    ++failures;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
process.exit(failures > 0 ? 1 : 0);
