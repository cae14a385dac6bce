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

if (!browser) skip("Chromium is not installed");
// On one V100 a job waits and misses its deadline: no figure is empty.
const quickstart = run("quickstart", path.join(source, "scenarios/quickstart.json"), "--set", "/cluster/pools/1/nodes=1");
if (!fs.existsSync(path.join(quickstart, "report.html"))) skip("the program was built without the HTML report");

const shownAs = { cost_usd: money, effective_cost_usd: money, saving_percent: percent, effective_saving_percent: percent, both_keep_limits_fraction: share, limits_broken: number,
  deadline_met_fraction: share, accuracy_met_fraction: share, jobs_failed: number, jct_mean_s: duration, jct_p95_s: duration,
  makespan_s: duration, utilization_fraction: share, energy_kwh: (kwh) => `${number(kwh)} kWh`, profiling_cost_usd: money,
  idle_cost_usd: money, time_error_median: share, cost_error_median: share, regret_mean_usd: money };

const tests = {
  "a run: every figure, and the numbers of summary.json"() {
    const page = loaded(quickstart);
    assert.deepEqual(page.figures, ["Cost of each policy", "Saving against manual", "What the money bought", "Limits kept and broken",
      "Completion times", "Waiting times", "Devices in use", "Jobs waiting", "Jobs on nodes", "Cost against deadline",
      "Cost against accuracy floor", "Predicted and actual"]);
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
    assert.deepEqual(loaded(bare).figures, ["Cost of each policy", "Saving against manual", "What the money bought"]);
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
    for (const figure of ["Completion times", "Jobs on nodes", "Cost against deadline", "Predicted and actual"]) assert.ok(page.figures.includes(figure), figure);
    assert.match(page.dom, /Of 21,000 rows of jobs\.csv 20,000 are here: 10,000 jobs, evenly spread over the dates of submission/);
    assert.match(page.dom, /A point for each job of an even sample of the first repetition/);
  },

  "a policy that failed is a row, and the rest is there"() {
    const folder = path.join(scratch, "failed");
    fs.cpSync(quickstart, folder, { recursive: true });
    const file = path.join(folder, "summary.json");
    const summary = JSON.parse(fs.readFileSync(file, "utf8"));
    summary.policies[1] = { policy: summary.policies[1].policy, status: "failed", reason: "it <b>broke</b>" };
    fs.writeFileSync(file, JSON.stringify(summary, null, 2));
    rehearse("report", "failed");
    assert.match(loaded(folder).dom, /failed: it &lt;b&gt;broke&lt;\/b&gt;/);
  },

  "a study: its tables, charts and pictures"() {
    const folder = run("frontier", path.join(source, "scenarios/configure/frontier.json"), "--set", '/study={"name": "frontier", "accuracy_slack": [0.02], "deadline_factors": [0.5, 1, 2]}');
    const page = loaded(folder);
    assert.ok(page.figures.includes("frontier"));
    assert.equal(page.figures.filter((f) => f.startsWith("frontier ")).length, 2); // a chart a job
    const characterised = loaded(run("characterised", path.join(source, "scenarios/configure/characterise.json"), "--set", '/study={"name": "characterise", "workers": [1, 2], "batch_factors": [1, 2], "accuracy_slack": [0.02], "deadline_factors": [1]}'));
    assert.ok(characterised.figures.some((f) => f.startsWith("heat ")));
    const placed = loaded(run("placed", write("placed.json", { name: "placed", seed: 1,
      cluster: { pools: [{ name: "k80", instance: "p2.8xlarge", nodes: 1 }] },
      study: { name: "placement", graphs: [{ model: "resnet18", batch: 64 }], machines: [{ pool: "k80", gpus: 2 }], methods: ["heft"] } })));
    assert.deepEqual(placed.figures, ["placement resnet18-2 x k80-makespan", "timeline resnet18-2 x k80-makespan", "placement"]);
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
