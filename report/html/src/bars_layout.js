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
