#!/usr/bin/env node
// Size of an HTML report of 50,000 jobs, seconds that it takes to make, and to load in headless Chromium until all is drawn.
// Usage: bench/report_load.mjs PROGRAM [LOADS]
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { browser, flags } from "../tests/report/html/browser.mjs";

const [given, loads = "3"] = process.argv.slice(2);
const program = path.resolve(given);  // it runs in a folder of its own
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "report-load-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true, maxRetries: 5 }));

const scenario = {
  name: "fifty-thousand", seed: 3,
  cluster: { pools: [{ name: "t4", instance: "g4dn.12xlarge", nodes: 60 }, { name: "v100", instance: "p3.8xlarge", nodes: 60 }] },
  jobs: [{ generate: "mixed-cnn-rnn", count: 50000, arrivals_per_hour: 100, models: [{ model: "resnet18", dataset: "cifar10" },
    { model: "rnnlm", dataset: "ptb", recurrent: true }, { model: "deepspeech2", dataset: "cmu-arctic", recurrent: true }] }],
  output: { report: true, utilization: true, predictions: true, stages: true, events: "none" },
  policies: ["manual"],
};

function rehearse(...args) {
  const began = process.hrtime.bigint();
  const ended = spawnSync(program, args, { cwd: scratch, encoding: "utf8" });
  if (ended.status !== 0) throw new Error(ended.stderr);
  return Number(process.hrtime.bigint() - began) / 1e9;
}

fs.writeFileSync(path.join(scratch, "s.json"), JSON.stringify(scenario));
const run = rehearse("run", "s.json", "--out", "results");
const made = Math.min(...[1, 2, 3].map(() => rehearse("report", "results")));
const report = path.join(scratch, "results/report.html");
console.log(`whole run ${run.toFixed(1)} s, report alone ${made.toFixed(1)} s, ${(fs.statSync(report).size / 1e6).toFixed(2)} MB`);

/** Talks to a Chromium of its own through its debugging pipe: commands on file 3, answers on file 4, each ended by a NUL. */
class Tab {
  constructor(profile) {
    this.process = spawn(browser, [...flags, `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.waiting = new Map();
    let text = "";
    this.process.stdio[4].setEncoding("utf8").on("data", (more) => {
      const parts = (text + more).split("\0");
      text = parts.pop();
      for (const { id, result } of parts.map((part) => JSON.parse(part))) this.waiting.get(id)?.(result);
    });
  }
  send(method, params = {}, sessionId) {
    const id = this.waiting.size + 1;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((done) => this.waiting.set(id, done));
  }
}

const evaluate = async (tab, sessionId, expression) => (await tab.send("Runtime.evaluate", { expression, awaitPromise: true }, sessionId))?.result;
const computed = async (tab, sessionId) => (await tab.send("Performance.getMetrics", {}, sessionId)).metrics.find((m) => m.name === "TaskDuration").value;

// Twenty frames of "Jobs on nodes" with all of its bars in sight.
const zooms = `(async () => {
  const canvas = document.querySelector('figure[data-figure="Jobs on nodes"] canvas');
  for (let i = 0; i < 20; ++i) {
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
    await new Promise((done) => requestAnimationFrame(done));
  }
})()`;

/** Seconds until everything is drawn, and of them those that the page's main thread computed; and what a frame of the bars takes it. */
async function load(file, profile) {
  const tab = new Tab(profile);
  const { targetInfos } = await tab.send("Target.getTargets");
  const { sessionId } = await tab.send("Target.attachToTarget", { targetId: targetInfos.find((t) => t.type === "page").targetId, flatten: true });
  await tab.send("Performance.enable", { timeDomain: "threadTicks" }, sessionId);
  await tab.send("Page.navigate", { url: pathToFileURL(file).href }, sessionId);
  const whenReady = "new Promise((done) => { const look = () => document.documentElement.dataset.ready ? done(performance.now()) : setTimeout(look, 5); look(); })";
  let wall; // the question asked of the page before has no answer
  while (typeof wall !== "number") wall = (await evaluate(tab, sessionId, whenReady))?.value;
  const cpu = await computed(tab, sessionId);
  await evaluate(tab, sessionId, zooms);
  const frame = (await computed(tab, sessionId)) - cpu;
  await tab.send("Browser.close");
  return { wall: wall / 1000, cpu, frame: frame / 20 };
}

for (let i = 0; i < Number(loads); ++i) {
  const { wall, cpu, frame } = await load(report, path.join(scratch, `profile-${i}`));
  console.log(`loaded in ${wall.toFixed(2)} s, of which the page computed ${cpu.toFixed(2)} s; a frame of the bars ${(1000 * frame).toFixed(0)} ms`);
}
