// The report's pure functions. Usage: node --test tests/report/html/
import assert from "node:assert/strict";
import test from "node:test";
import { csvText, fileName } from "../../../report/html/src/csv.js";
import { groupRows, numericColumns, studyTables, unpackTable } from "../../../report/html/src/data.js";
import { columnLabel, duration, money, number, percent, share, tick, timeUnit } from "../../../report/html/src/format.js";

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

test("money, percent and shares", () => {
  assert.equal(money(1.23456), "$1.235");
  assert.equal(money(-2), "−$2");
  assert.equal(percent(-36.81), "−36.8 %");
  assert.equal(percent(-0.04), "0.0 %"); // no minus before nothing
  assert.equal(share(0.8725, 2), "87.25 %");
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
