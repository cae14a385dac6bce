// The report's pure functions. Usage: node --test tests/report/html/
import assert from "node:assert/strict";
import test from "node:test";
import { csvText, fileName } from "../../../report/html/src/csv.js";
import { lanesOf, ticks, zoomed } from "../../../report/html/src/bars_layout.js";
import { distributionPoints, groupRows, markYardsticks, numericColumns, standingOf, studyTables, unpackTable } from "../../../report/html/src/data.js";
import { layersOf, layout, readDot } from "../../../report/html/src/graph_layout.js";
import { frontiers, heatColour, heatMaps } from "../../../report/html/src/study_data.js";
import { filtersOf, startingView } from "../../../report/html/src/starting_view.js";
import { columnLabel, deviation, duration, factor, money, number, percent, share, tick, timeUnit } from "../../../report/html/src/format.js";

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

test("a policy's standing in a few words", () => {
  const verdict = { winner: "cheap", best: "cheap", reference: "manual", policies: [
    { policy: "manual", yardstick: false, keeps_limits: "yes", standing: "dearer" },
    { policy: "cheap", yardstick: false, keeps_limits: "yes", standing: "best" },
    { policy: "late", yardstick: false, keeps_limits: "no", standing: null },
    { policy: "oracle", yardstick: true, keeps_limits: null, standing: null } ] };
  assert.equal(standingOf(verdict, "manual"), "reference; dearer than cheap");
  assert.equal(standingOf(verdict, "cheap"), "cheapest");
  assert.equal(standingOf(verdict, "late"), "does not keep limits");
  assert.equal(standingOf(verdict, "oracle"), "yardstick");
  assert.equal(standingOf(undefined, "manual"), "");
});

test("money, percent and shares", () => {
  assert.equal(money(1.23456), "$1.235");
  assert.equal(money(-2), "−$2");
  assert.equal(percent(-36.81), "−36.8 %");
  assert.equal(percent(-0.04), "0.0 %"); // no minus before nothing
  assert.equal(share(0.8725, 2), "87.25 %");
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
