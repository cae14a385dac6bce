// Where bars go: dates of an axis, the part of the time that is seen, lanes of a row.

/** Dates of an axis: at most about `count` round steps between two dates. */
export function ticks(from, to, count) {
  const rough = (to - from) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.max(0, Math.floor(to / step) - first + 1) }, (_, i) => (first + i) * step);
}

/** The view after zooming by `factor` around `at`, or moving; never beyond [0, end], never closer than a ten-millionth. */
export function zoomed({ from, to }, at, factor, end) {
  const length = Math.min(end, Math.max(end * 1e-7, (to - from) / factor));
  const start = Math.min(Math.max(0, at - ((at - from) / (to - from)) * length), end - length);
  return { from: start, to: start + length };
}

/**
 * Lanes of a node's bars, so that jobs at the same time stand side by side: each takes the lowest that are free at its start. `bars`
 * are { from, to, devices } by start; returns each one's first lane. Never more than `devices` lanes when no more are held.
 */
export function lanesOf(bars, devices) {
  const freeAt = new Array(Math.max(1, devices)).fill(-Infinity);
  return bars.map(({ from, to, devices: held }) => {
    const lanes = Math.max(1, Math.ceil(held));
    const free = freeAt.map((time, lane) => [time <= from + 1e-6, lane]).filter(([is]) => is).map(([, lane]) => lane);
    const run = free.find((lane, i) => free[i + lanes - 1] === lane + lanes - 1) ?? free[0] ?? 0;
    for (let lane = run; lane < Math.min(freeAt.length, run + lanes); ++lane) freeAt[lane] = to;
    return run;
  });
}

const moment = 0.02; // dates are rounded to 0.01 s

/**
 * What ended each of a policy's bars before its job was done: "preempted" (another job took a device of one of its nodes at once), "lost"
 * (nobody took over: the node failed, was taken away or serviced) or "failed" (the job). A job that goes on at once, and was reconfigured
 * at all, was reconfigured. `ends`: job -> { state, reconfigurations }; nothing is said of others. `bars.source` are rows of `table`;
 * where these are not `all`, who took over may be missing, and nobody is said to have lost a node.
 */
export function interruptions(table, bars, ends, all = true) {
  const startsOn = new Map();
  const of = (row) => `${table.pool[row]}/${table.node[row]}`;
  const lastEnd = new Map();
  const startsOf = new Map();
  const nodesOf = new Map();
  for (const row of bars.source) {
    const [node, job] = [of(row), table.job[row]];
    if (!startsOn.has(node)) startsOn.set(node, []);
    startsOn.get(node).push([table.start_s[row], job]);
    if (!startsOf.has(job)) startsOf.set(job, []);
    startsOf.get(job).push(table.start_s[row]);
    if (!nodesOf.has(job)) nodesOf.set(job, []);
    nodesOf.get(job).push([table.end_s[row], node]);
    lastEnd.set(job, Math.max(lastEnd.get(job) ?? 0, table.end_s[row]));
  }
  const near = (a, b) => Math.abs(a - b) <= moment;
  const marks = [];
  bars.source.forEach((row, bar) => {
    const [job, at] = [table.job[row], table.end_s[row]];
    if (!ends.has(job)) return;
    const { state, reconfigurations = 0 } = ends.get(job);
    const isLast = near(lastEnd.get(job), at);
    if (isLast && state === "failed") marks.push({ bar, at, kind: "failed" });
    if (isLast || (reconfigurations > 0 && startsOf.get(job).some((start) => near(start, at)))) return;
    const taken = nodesOf.get(job).filter(([end]) => near(end, at)).some(([, node]) => startsOn.get(node).some(([start, other]) => other !== job && near(start, at)));
    if (taken || all) marks.push({ bar, at, kind: taken ? "preempted" : "lost" });
  });
  return marks;
}

const waitingLanes = 24;

/** A policy's jobs while they waited, [from, to, job], from their submission and between two times of holding devices. */
export function waits(table, bars, submitted) {
  const held = new Map();
  for (const row of bars.source) {
    const job = table.job[row];
    if (!held.has(job)) held.set(job, []);
    held.get(job).push([table.start_s[row], table.end_s[row]]);
  }
  return [...held].flatMap(([job, times]) => {
    const own = [];
    let until = submitted.get(job) ?? times.reduce((least, [start]) => Math.min(least, start), Infinity);
    for (const [start, end] of times.sort((a, b) => a[0] - b[0])) {
      if (start > until + moment) own.push([until, start, job]);
      until = Math.max(until, end);
    }
    return own;
  }).sort((a, b) => a[0] - b[0]);
}

/** A row of waiting jobs above the nodes, in as many lanes as wait at once, at most `waitingLanes`; those beyond are not drawn. */
export function addWaiting({ labels, bars }, waiting) {
  const freeAt = [];
  const placed = waiting.map(([from, to]) => {
    const lane = freeAt.findIndex((time) => time <= from + moment);
    const own = lane < 0 && freeAt.length < waitingLanes ? freeAt.length : lane;
    if (own >= 0) freeAt[own] = to;
    return own;
  });
  if (freeAt.length === 0) return;
  bars.row = bars.row.map((row) => row + 1);
  labels.unshift({ name: "waiting", lanes: freeAt.length });
  bars.waits = {};
  waiting.forEach(([from, to, job], i) => {
    if (placed[i] < 0) return;
    bars.waits[bars.row.length] = job;
    for (const [column, value] of Object.entries({ row: 0, from, to, lane: placed[i], lanes: 1, source: -1 })) bars[column].push(value);
  });
}
