// The report's pure functions. Usage: node --test tests/report/html/
import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { csvText, fileName } from "../../../report/html/src/csv.js";
import { logTicks } from "../../../report/html/src/axes.js";
import { addWaiting, interruptions, lanesOf, ticks, waits, zoomed } from "../../../report/html/src/bars_layout.js";
import { apart, chosenShares, extent, kindOf, labelPlaces, roundRange, shareDigits, standingOf, tradedValue, tradeOffs } from "../../../report/html/src/conclusions.js";
import { distributionPoints, groupRows, markYardsticks, numericColumns, studyTables, unpackTable } from "../../../report/html/src/data.js";
import { layersOf, layout, readDot } from "../../../report/html/src/graph_layout.js";
import { slots, slotsOf, usualSlots, usualYardsticks } from "../../../report/html/src/palette.js";
import { constantColumns, frontiers, heatColour, heatMaps } from "../../../report/html/src/study_data.js";
import { headline, inOrder, titleOf } from "../../../report/html/src/study_headline.js";
import { filtersOf, startingView } from "../../../report/html/src/starting_view.js";
import { columnLabel, columnShown, deviation, duration, factor, money, number, percent, share, tick, timeTick, timeUnit } from "../../../report/html/src/format.js";

test("numbers have four digits at least, and whole ones all of theirs", () => {
  assert.equal(number(6.133838), "6.134");
  assert.equal(number(123456.789), "123,457");
  assert.equal(number(1234567), "1,234,567");
  assert.equal(number(0), "0");
  assert.equal(number(-0.5), "-0.5");
  assert.equal(number(0.00001234), "1.234e-5");
  assert.equal(number(3e13), "3.000e+13");
  for (const nothing of [null, undefined, NaN]) assert.equal(number(nothing), "–");
});

test("yardsticks are marked in every table, and found in the files by their own names", () => {
  const first = {
    summary: { yardsticks: ["oracle"], policies: [{ policy: "manual" }, { policy: "oracle" }], tables: { frontier: [{ policy: "oracle", points: 3 }] } },
    timing: { policies: [{ policy: "oracle" }] },
  };
  const detail = {
    counted: { manual: { fates: {} }, oracle: { fates: {} } },
    jobs: { table: { rows: 2, columns: { policy: { names: ["manual", "oracle"], codes: [0, 1] } } } },
    utilization: { rows: 1, columns: { policy: { all: "oracle" } } },
  };
  markYardsticks(first, detail);
  assert.deepEqual(first.summary.policies, [{ policy: "manual", own_name: "manual" }, { policy: "oracle (yardstick)", own_name: "oracle" }]);
  assert.equal(first.timing.policies[0].policy, "oracle (yardstick)");
  assert.equal(first.summary.tables.frontier[0].policy, "oracle (yardstick)");
  assert.deepEqual(Object.keys(detail.counted), ["manual", "oracle (yardstick)"]);
  assert.deepEqual(unpackTable(detail.jobs.table).policy, ["manual", "oracle (yardstick)"]);
  assert.deepEqual(unpackTable(detail.utilization).policy, ["oracle (yardstick)"]);
});

test("money, percent and shares", () => {
  assert.equal(money(1.23456), "$1.235");
  assert.equal(money(-2), "−$2");
  assert.equal(percent(-36.81), "−36.8 %");
  assert.equal(percent(-0.04), "0 %"); // no minus before nothing
  assert.equal(share(0.8725, 2), "87.25 %");
  assert.deepEqual([1, 0.9997, 0.99996, 0.999999999].map((value) => share(value)), ["100 %", "99.97 %", "99.996 %", "100 %"]);
  assert.equal(factor(1.5), "1.50");
  assert.equal(factor(1234.4), "1,234");
  assert.equal(factor(null), "–");
});

test("durations change their unit as the terminal's table does", () => {
  // s below 10 min, min below 2 h, h below 96 h, then days
  assert.equal(duration(599), "599 s");
  assert.equal(duration(600), "10 min");
  assert.equal(duration(7199), "120 min");
  assert.equal(duration(7200), "2 h");
  assert.equal(duration(96 * 3600), "4 d");
  assert.equal(duration(0.0123), "12.3 ms");
  assert.equal(duration(0.0000123), "12.3 µs");
  assert.equal(duration(0), "0 s");
  assert.equal(timeUnit(7200).name, "h");
});

test("labels of axes and columns", () => {
  assert.deepEqual([1200, 12000, 3.4e6, 0.25].map(tick), ["1200", "12k", "3.4M", "0.25"]);
  assert.equal(columnLabel("step_s"), "step, s");
  assert.equal(columnLabel("price_usd_per_hour"), "price, $/h");
  assert.equal(columnLabel("over_bound"), "over bound");
  assert.equal(columnLabel("kept_fraction"), "kept");
});

test("CSV is quoted where it must be", () => {
  assert.equal(csvText(["a", "b"], [["x,y", 'say "hi"'], [null, 1.5], ["two\nlines", undefined]]),
    'a,b\r\n"x,y","say ""hi"""\r\n,1.5\r\n"two\nlines",\r\n');
  assert.equal(fileName("Cost, by <policy>"), "cost-by-policy.csv");
});

test("packed tables come back", () => {
  const table = unpackTable({ rows: 3, columns: {
    job: { names: ["b", "a"], codes: [1, 0, -1] },
    cost_usd: { numbers: [1, null, 3] },
    policy: { all: "manual" },
  } });
  assert.deepEqual(table, { rows: 3, job: ["a", "b", null], cost_usd: [1, null, 3], policy: ["manual", "manual", "manual"] });
  assert.deepEqual([...groupRows(table.job)], [["a", [0]], ["b", [1]], [null, [2]]]);
});

test("which columns of a study's table are numbers", () => {
  const [table] = studyTables({ t: [{ a: 1, b: "x" }, { a: null, b: "y", c: null }] });
  assert.deepEqual(table.columns, ["a", "b", "c"]);
  assert.deepEqual(numericColumns(table), ["a"]);
});

test("our DOT files are read, and laid out in layers", () => {
  const { devices, nodes, edges } = readDot(`digraph "g" {
  subgraph cluster_devices {
    device0 [label="cpu", shape=box, fillcolor="#000000"];
    device1 [label="gpu \\"0\\"", shape=box, fillcolor="#e69f00"];
  }
  op0 [label="a", fillcolor="#e69f00"];
  op1 [label="b\\\\c", fillcolor="#000000", style="filled,dashed"];
  op2 [label="d", fillcolor="#ffffff"];
  op0 -> op1 [tooltip="1.0 MB", penwidth=2];
  op1 -> op2 [tooltip="2.0 kB"];
  op0 -> op2 [tooltip="3.0 kB"];
}`);
  assert.deepEqual(devices, ["cpu", 'gpu "0"']);
  assert.deepEqual(nodes.map((n) => [n.label, n.device, n.backward]), [["a", 1, false], ["b\\c", 0, true], ["d", -1, false]]);
  assert.deepEqual(edges[0], [0, 1, "1.0 MB"]);
  assert.deepEqual(layersOf(3, edges), [0, 1, 2]);
  assert.deepEqual(layersOf(2, [[0, 1], [1, 0]]).length, 2); // a circle ends too
  assert.deepEqual(layout(3, [[0, 1], [0, 2]]).map((p) => [p.x, p.y]), [[0, 0], [-0.5, 1], [0.5, 1]]);
});

test("jobs of a node stand side by side in the lowest free lanes", () => {
  // 4 devices: a takes 0 and 1, b 2; when a has ended c takes 0 and 1; d finds 3.
  assert.deepEqual(lanesOf([
    { from: 0, to: 10, devices: 2 }, { from: 5, to: 20, devices: 1 }, { from: 10, to: 30, devices: 2 }, { from: 11, to: 12, devices: 1 },
  ], 4), [0, 2, 0, 3]);
});

test("zooming stays within the dates", () => {
  assert.deepEqual(zoomed({ from: 0, to: 100 }, 50, 2, 100), { from: 25, to: 75 });
  assert.deepEqual(zoomed({ from: 0, to: 50 }, 0, 0.1, 100), { from: 0, to: 100 });
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
});

test("the curve of a distribution ends at one", () => {
  assert.deepEqual(distributionPoints({ count: 2, values: [3, 4] }), [[3, 0.5], [4, 1]]);
  assert.deepEqual(distributionPoints({ count: 1000, values: [3, 5, 9] }), [[3, 0], [5, 0.5], [9, 1]]);
});

test("what a study's chart starts with", () => {
  const table = { name: "frontier", columns: ["policy", "job", "deadline_s", "cost_usd"], rows: [
    { policy: "p", job: "a", deadline_s: 1, cost_usd: 2 }, { policy: "p", job: "b", deadline_s: 1, cost_usd: 3 }] };
  assert.deepEqual(startingView(table), { x: "deadline_s", y: "cost_usd", by: "policy", one: ["job"] });
  assert.deepEqual(filtersOf(table, startingView(table)), [{ column: "job", values: ["a", "b"], start: "a" }]);
  const unknown = { ...table, name: "unknown" };
  assert.deepEqual(startingView(unknown), { x: "policy", y: "cost_usd", by: "job", one: [] });
  assert.deepEqual(filtersOf(unknown, { x: "policy", y: "cost_usd", by: null, one: [] }), [{ column: "job", values: ["a", "b"], start: "" }]);
});

test("how far what happened is from what was predicted", () => {
  assert.equal(deviation(100, 87.7), "−12.3 %");
  assert.equal(deviation(100, 110), "+10.0 %");
  assert.equal(deviation(null, 1), "–");
});

test("a frontier's lines by job, floor and policy, in order of deadlines; a point that broke a limit once is marked", () => {
  const row = (policy, target_accuracy, deadline_s, cost_usd, kept_fraction) => ({ job: "a", policy, target_accuracy, deadline_s, cost_usd, kept_fraction });
  assert.deepEqual(frontiers([row("p", 0.9, 20, 3, 1), row("p", 0.9, 10, 4, 0.5), row("q", 0.9, 10, 5, 1), row("p", 0.8, 10, 2, 1)]), [{ job: "a", floors: [
    { floor: 0.9, lines: [{ policy: "p", points: [[10, 4, false], [20, 3, true]] }, { policy: "q", points: [[10, 5, true]] }] },
    { floor: 0.8, lines: [{ policy: "p", points: [[10, 2, true]] }] }] }]);
});

test("a heat map is over the least that keeps the limits, not over a cheaper cell that breaks one", () => {
  const row = (workers, batch_size, cost_usd, keeps_limits) => ({ job: "a", pool: "k80", workers, batch_size, cost_usd, keeps_limits });
  const [map] = heatMaps([row(1, 64, 5, "false"), row(1, 32, 20, "true"), row(2, 64, 10, "true")]);
  assert.deepEqual([map.names, map.batches], [["k80 × 1", "k80 × 2"], [32, 64]]);
  assert.deepEqual(map.cells.map((c) => [c.row, c.column, c.value, c.kept, c.best]),
    [[0, 1, 0.5, false, false], [0, 0, 2, true, false], [1, 1, 1, true, true]]);
  const [none] = heatMaps([row(1, 32, 8, "false"), row(1, 64, 4, "false")]);
  assert.deepEqual(none.cells.map((c) => [c.value, c.best]), [[2, false], [1, false]]);
});

test("colours of a heat map go by the logarithm and end where the values do", () => {
  assert.equal(heatColour(1, 100), "rgb(255,252,192)");
  assert.equal(heatColour(100, 100), "rgb(77,179,201)");
  assert.equal(heatColour(1e9, 100), "rgb(77,179,201)");
  assert.equal(heatColour(10, 100), "rgb(163,219,184)"); // half way: between (199, 233, 180) and (127, 205, 187)
  assert.equal(heatColour(1, 1), "rgb(255,252,192)");
});

const source = (file) => fs.readFileSync(new URL(`../../../report/${file}`, import.meta.url), "utf8");
const coloursOf = (kind) => [...source("html/src/style.css").split('[data-theme="dark"]')[0].matchAll(new RegExp(`--${kind}-[a-z0-9]+: (#[0-9a-f]{6})`, "g"))].map(([, colour]) => colour);

test("one palette: no policy has an outcome's colour, and gnuplot's figures have the same colours for the same policies", () => {
  const [policies, outcomes] = [coloursOf("series"), coloursOf("outcome")];
  assert.equal(new Set([...policies, ...outcomes]).size, slots + 6);
  const gnuplot = source("plots/gnuplot.cpp");
  const looks = gnuplot.slice(gnuplot.indexOf("kLooks{{{"), gnuplot.indexOf("constexpr Look kYardstick"));
  assert.deepEqual([...looks.matchAll(/#[0-9A-F]{6}/g)].map(([colour]) => colour.toLowerCase()), policies);
  const usual = gnuplot.slice(gnuplot.indexOf("kUsualSlots[] = {"), gnuplot.indexOf("kUsualYardsticks[] = {"));
  assert.deepEqual(Object.fromEntries([...usual.matchAll(/\{"([^"]+)", (\d+)\}/g)].map(([, name, slot]) => [name, Number(slot)])), usualSlots);
  const greys = gnuplot.slice(gnuplot.indexOf("kUsualYardsticks[] = {"));
  assert.deepEqual([...greys.slice(0, greys.indexOf(";")).matchAll(/"([^"]+)"/g)].map(([, name]) => name), usualYardsticks);
});

/** CIE lightness of #rrggbb: what is left of a colour in grey. */
function lightness(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return y > 216 / 24389 ? 116 * Math.cbrt(y) - 16 : (y * 24389) / 27;
}

test("outcomes are told apart in grey: the graver the darker; and so are policies that stand beside each other", () => {
  const grey = coloursOf("outcome").map(lightness); // kept, too dear, late, inaccurate, both, failed
  for (let i = 2; i < grey.length; ++i) assert.ok(grey[i - 1] - grey[i] > 8, String(grey));
  const policies = coloursOf("series").map(lightness);
  for (let i = 1; i < policies.length; ++i) assert.ok(Math.abs(policies[i - 1] - policies[i]) > 8, String(policies));
});

test("a policy has its colour whoever stands beside it, and a yardstick takes none", () => {
  assert.deepEqual(slotsOf(["manual", "static-isotonic"]).get("static-isotonic"), { slot: 3 });
  assert.deepEqual(slotsOf(["mine", "static-isotonic"]).get("static-isotonic"), { slot: 3 });
  assert.deepEqual([...slotsOf(["mine", "manual", "oracle", "other"])].sort(), [["manual", { slot: 0 }], ["mine", { slot: 1 }], ["oracle", { grey: 0 }], ["other", { slot: 2 }]]);
  assert.deepEqual([...slotsOf(["gavel"], ["gavel"])], [["gavel", { grey: 0 }]]);
  assert.deepEqual([...slotsOf(["oracle", "mine (yardstick)"], [])], [["mine (yardstick)", { grey: 0 }], ["oracle", { slot: 0 }]]); // as results say
});

const estimates = (policy, values) => ({ policy, status: "ok", ...Object.fromEntries(Object.entries(values).map(([field, mean]) => [field, { mean, ci95_low: null, ci95_high: null }])) });

test("which kind of study a run is decides what it begins with", () => {
  const rows = [estimates("a", { cost_usd: 10 }), estimates("b", { cost_usd: 10 })];
  const jobs = (model, pools) => ({ policy: ["a", "b"], job: ["j", "j"], start_s: [0, 0], model, pool: pools, workers: [1, 1], batch_size: [8, 8] });
  assert.equal(kindOf({ summary: {}, policies: rows, jobs: jobs([null, null], ["p", "p"]) }), "queue"); // rigid jobs
  assert.equal(kindOf({ summary: {}, policies: rows, jobs: jobs(["m", "m"], ["p", "p"]) }), "queue"); // all run on the same
  assert.equal(kindOf({ summary: {}, policies: rows, jobs: jobs(["m", "m"], ["p", "q"]) }), "configuration");
  assert.equal(kindOf({ summary: { kinds: ["queue"] }, policies: rows, jobs: jobs(["m", "m"], ["p", "q"]) }), "queue"); // as results say
  assert.equal(kindOf({ summary: {}, policies: [estimates("a", { cost_lost_usd: 3 })] }), "nodes");
  assert.equal(kindOf({ summary: {}, policies: [estimates("a", { cost_lost_usd: 0 })] }), "configuration");
});

test("the trade-off: quantities that both differ between policies, within what is possible", () => {
  const a = estimates("a", { cost_usd: 10, jobs: 4, limits_broken: 1, jct_mean_s: 5, jct_p95_s: 20, deadline_met_fraction: 1 });
  const b = estimates("b", { cost_usd: 12, jobs: 4, limits_broken: 0, jct_mean_s: 7, jct_p95_s: 15, deadline_met_fraction: 1 });
  assert.deepEqual(tradeOffs("configuration", [a, b])[0], ["cost_usd", "kept"]); // all keep their deadlines: nothing to trade
  assert.deepEqual(tradeOffs("queue", [a, b])[0], ["jct_mean_s", "jct_p95_s"]); // 99 % is not known
  assert.deepEqual(tradeOffs("queue", [a]), []);
  const [c, d, e] = [[1, 9, 20], [2, 8, 30], [3, 7, null]].map(([jct_mean_s, jct_p95_s, jct_p99_s]) => estimates("c", { jct_mean_s, jct_p95_s, jct_p99_s }));
  assert.deepEqual(tradeOffs("queue", [c, d, e]), [["jct_mean_s", "jct_p95_s"], ["jct_mean_s", "jct_p99_s"]]); // the last one's 99 % are never done
  // Nearly all keep all deadlines but a yardstick: what tells more stands first.
  const slightly = [["a", 10, 1, 5], ["b", 12, 0.999, 7], ["oracle (yardstick)", 8, 0.9, 4]].map(([policy, cost_usd, deadline_met_fraction, jct_mean_s]) => estimates(policy, { cost_usd, deadline_met_fraction, jct_mean_s }));
  assert.deepEqual(tradeOffs("configuration", slightly), [["cost_usd", "jct_mean_s"], ["cost_usd", "deadline_met_fraction"]]);
  // kept: 1 of 4 broken is 75 %; an interval of 0 to 6 broken ones is none below 0 %
  const wide = { ...a, limits_broken: { mean: 1, ci95_low: 0, ci95_high: 6 } };
  assert.deepEqual(tradedValue(wide, "kept"), { mean: 0.75, low: 0, high: 1 });
});

test("an axis holds every mean with its interval", () => {
  assert.deepEqual(extent([{ mean: 5, low: 1, high: 40 }, { mean: 6, low: null, high: null }]), [1, 40]);
  assert.deepEqual(extent([{ mean: 5, low: null, high: null }]), [5, 5]);
});

test("what each policy chose: shares of its jobs, the most frequent seven, jobs that never started left out", () => {
  const jobs = { policy: ["a", "a", "a", "b", "b"], start_s: [0, 0, null, 0, 0], pool: ["p", "q", "q", "p", "p"], workers: [1, 2, 4, 1, 1], batch_size: [0, 0, 0, 0, 0] };
  const [pools, workers, none] = chosenShares(jobs);
  assert.deepEqual(pools, { column: "pool", title: "Pools", values: ["p", "q"], differs: true, shares: [{ policy: "a", shares: [0.5, 0.5], jobs: 2 }, { policy: "b", shares: [1, 0], jobs: 2 }] });
  assert.deepEqual(workers.values, [1, 2]);
  assert.equal(none, undefined); // jobs without batch sizes
  const many = { policy: Array(9).fill("a"), start_s: Array(9).fill(0), pool: Array(9).fill("p"), workers: [1, 2, 3, 4, 5, 6, 7, 8, 9] };
  const [, nine] = chosenShares(many);
  assert.deepEqual(nine.values, [1, 2, 3, 4, 5, 6, 7, "other"]);
  assert.ok(Math.abs(nine.shares[0].shares[7] - 2 / 9) < 1e-12);
});

test("columns that differ, and those that are the same for all", () => {
  const { differ, same } = apart([{ label: "x", text: (r) => r.x }, { label: "y", text: (r) => r.y }], [{ x: "1", y: "5" }, { x: "2", y: "5" }]);
  assert.deepEqual([differ.map((c) => c.label), same.map((s) => [s.column.label, s.text])], [["x"], [["y", "5"]]]);
  assert.deepEqual(constantColumns({ columns: ["a", "b", "c"], rows: [{ a: 1, b: 2 }, { a: 1, b: 3 }] }), { a: 1, c: null });
  assert.deepEqual(constantColumns({ columns: ["a"], rows: [{ a: 1 }] }), {});
});

test("a policy's standing is in the words of the terminal's table; of queues by completion times", () => {
  const summary = { verdict: { policies: [{ policy: "manual", in_words: "reference; 25 % dearer than cheap" }, { policy: "cheap", in_words: "cheapest" }] } };
  const standings = (names) => names.map((name) => standingOf(summary, name));
  assert.deepEqual(standings(["manual", "cheap", "unknown"]), ["reference; 25 % dearer than cheap", "cheapest", ""]);
  summary.completion_verdict = { policies: [{ policy: "manual", in_words: "reference" }, { policy: "cheap", in_words: "finishes fewer jobs" }] };
  assert.deepEqual(standings(["manual", "cheap", "unknown"]), ["reference", "finishes fewer jobs", ""]);
  // Results of older programs have no words, or no verdict.
  assert.equal(standingOf({ verdict: { policies: [{ policy: "manual", standing: "best" }] } }, "manual"), "");
  assert.equal(standingOf({}, "manual"), "");
});

test("axes end where their values do", () => {
  // 3.1 to 4.7, with a little room: steps of 0.5
  assert.deepEqual(roundRange(3.1, 4.7), { min: 3, max: 5, interval: 0.5 });
  assert.deepEqual(roundRange(0.94, 0.999, { least: 0, most: 1 }).max, 1);
  assert.deepEqual([0.05, 0.25, 0.025, 0.0005].map(shareDigits), [0, 0, 1, 2]);
  assert.deepEqual(logTicks(0.3, 40), [1, 10].flatMap((n) => [n, 3 * n]).concat(0.3).sort((a, b) => a - b).filter((v) => v <= 40));
  assert.deepEqual(logTicks(5, 2e6, true), [10, 60, 600, 3600, 36000, 86400, 864000]); // 10 s ... 10 days, and no power of ten beyond
  assert.deepEqual(logTicks(2000, 10000, true), [3600, 7200]);
  assert.deepEqual([10, 60, 600, 36000, 864000].map(timeTick), ["10 s", "1 min", "10 min", "10 h", "10 d"]);
});

test("names beside points lie on no point and on no other name, and within the plot", () => {
  assert.deepEqual(labelPlaces([{ x: 50, y: 50, letters: 5 }, { x: 70, y: 50, letters: 5 }], 300, 200), ["top", "bottom"]);
  assert.deepEqual(labelPlaces([{ x: 290, y: 50, letters: 5 }], 300, 200), ["left"]);
  assert.deepEqual(labelPlaces([{ x: 10, y: 50, letters: 40 }], 30, 200), [null]);
});

test("columns of studies are read in their units", () => {
  const read = (name, value) => [columnShown(name).label, columnShown(name).show(value)];
  assert.deepEqual(read("kept_fraction", 0.64285), ["kept", "64.3 %"]);
  assert.deepEqual(read("gain_percent_mean", 12), ["gain mean", "12 %"]);
  assert.deepEqual(read("transferred_bytes", 269746176), ["transferred", "270 MB"]);
  assert.deepEqual(read("step_s", 0.25), ["step", "0.25 s"]);
  assert.deepEqual(read("over_bound", 1.5), ["over bound", "1.5"]);
  assert.deepEqual(read("cost_usd", null), ["cost", "–"]);
  assert.equal(columnLabel("gain_percent_mean"), "gain mean, %");
});

test("a study begins with what it is about, under a title, and with what it found", () => {
  const tables = [{ name: "placement-search", rows: [] }, { name: "placement", rows: [
    { graph: "g", machine: "m", objective: "makespan", method: "a", step_s: 2, fits: "true" }, { graph: "g", machine: "m", objective: "makespan", method: "b", step_s: 1, fits: "true" },
    { graph: "g", machine: "n", objective: "makespan", method: "a", step_s: 1, fits: "false" }] }];
  assert.deepEqual(inOrder(tables).map(({ name }) => titleOf(name)), ["Placement methods", "Progress of the searches"]);
  assert.equal(headline(tables), "b has the shortest step in 1 of 1 case (a graph on a machine).");
  assert.equal(headline([{ name: "policies", rows: [{ policy: "manual", saving_percent: 0 }, { policy: "a", saving_percent: 18.2, points: 42, kept_fraction: 0.64285 }, { policy: "oracle", saving_percent: 40, points: 42, kept_fraction: 1 }] }]),
    "a saves most: 18.2 % over 42 points, and keeps the limits at 64 % of them.");
  assert.equal(titleOf("my-table_of"), "My table of");
  assert.equal(headline([{ name: "unknown", rows: [{ a: 1 }] }]), null);
});

test("what ended a bar before its job was done: another job, the node, or the job itself", () => {
  // a: on p/0 until 10, when b takes over; again from 20 to 30. c: leaves p/1 at 5, and goes on at p/2 at once. d: reconfigured at 5.
  const table = { job: ["a", "b", "a", "c", "c", "d", "d"], pool: Array(7).fill("p"), node: [0, 0, 0, 1, 2, 3, 3],
    start_s: [0, 10, 20, 0, 5, 0, 5], end_s: [10, 20, 30, 5, 9, 5, 9] };
  const bars = { source: [0, 1, 2, 3, 4, 5, 6] };
  const ends = new Map([["a", { state: "finished" }], ["b", { state: "failed" }], ["c", { state: "finished", reconfigurations: 0 }], ["d", { state: "finished", reconfigurations: 1 }]]);
  assert.deepEqual(interruptions(table, bars, ends), [{ bar: 0, at: 10, kind: "preempted" }, { bar: 1, at: 20, kind: "failed" }, { bar: 3, at: 5, kind: "lost" }]);
  // Without all bars nobody knows who took over from c; of a job that is not in the list nothing is said.
  assert.deepEqual(interruptions(table, bars, ends, false).map(({ kind }) => kind), ["preempted", "failed"]);
  assert.deepEqual(interruptions(table, bars, new Map([["b", { state: "failed" }]])).map(({ kind }) => kind), ["failed"]);
  // e leaves both of its nodes when f takes one of them.
  const both = { job: ["e", "e", "f", "e"], pool: Array(4).fill("p"), node: [0, 1, 0, 1], start_s: [0, 0, 5, 8], end_s: [5, 5, 9, 9] };
  assert.deepEqual(interruptions(both, { source: [0, 1, 2, 3] }, new Map([["e", { state: "finished" }]])).map(({ kind }) => kind), ["preempted", "preempted"]);
  const waiting = waits(table, bars, new Map([["a", 0], ["b", 4]]));
  assert.deepEqual(waiting, [[4, 10, "b"], [10, 20, "a"]]);
  const drawn = { labels: [{ name: "p/0", lanes: 1 }], bars: { row: [0], from: [0], to: [10], lane: [0], lanes: [1], source: [0] } };
  addWaiting(drawn, waiting);
  assert.deepEqual(drawn.labels.map(({ name, lanes }) => [name, lanes]), [["waiting", 1], ["p/0", 1]]); // b ends waiting when a begins to
  assert.deepEqual([drawn.bars.row, drawn.bars.source, drawn.bars.waits], [[1, 0, 0], [0, -1, -1], { 1: "b", 2: "a" }]);
});
