// What the first screen of a run shows, worked out: which kind of study it is, what is traded for what, what each policy chose, and
// which quantities differ at all.
import { groupRows } from "./data.js";
import { duration, factor, money, number, share } from "./format.js";
import { isYardstick } from "./palette.js";

export const mean = (row, field) => (typeof row[field]?.mean === "number" ? row[field].mean : null);

const spread = (values) => (values.length < 2 ? 0 : (Math.max(...values) - Math.min(...values)) / Math.max(1e-12, ...values.map(Math.abs)));

/** "queue", "configuration" or "nodes": what decides the order of the report. Results of older programs do not say it. */
export function kindOf({ summary, policies, jobs }) {
  const of = (field) => policies.map((p) => mean(p, field) ?? 0);
  const kinds = summary.kinds ?? [];
  if (policies.length < 2) return kinds.includes("nodes") || of("cost_lost_usd").some((usd) => usd > 0) ? "nodes" : "configuration";
  if (kinds.length > 0) return ["configuration", "queue"].find((kind) => kinds.includes(kind)) ?? kinds[0];
  if (!jobs) return "configuration";
  if (!jobs.model?.some((model) => model !== null && model !== undefined)) return "queue";
  return chosenShares(jobs).some(({ differs }) => differs) || spread(of("cost_usd")) > 0.02 ? "configuration" : "queue";
}

const mostValues = 7;

/** Of pools, workers and batch sizes: the values, most frequent seven, and for each policy which share of its jobs has each. */
export function chosenShares(jobs) {
  const byPolicy = [...groupRows(jobs.policy)].map(([policy, rows]) => [policy, rows.filter((row) => jobs.start_s?.[row] !== null && jobs.pool?.[row])]);
  return [["pool", "Pools"], ["workers", "Workers"], ["batch_size", "Global batch size"]].filter(([column]) => jobs[column]).map(([column, title]) => {
    const isSet = (row) => (column === "batch_size" ? jobs[column][row] > 0 : jobs[column][row] !== null);
    const counts = byPolicy.map(([policy, rows]) => [policy, groupRows(rows.filter(isSet).map((row) => jobs[column][row]))]);
    const totals = new Map();
    for (const [, groups] of counts) for (const [value, places] of groups) totals.set(value, (totals.get(value) ?? 0) + places.length);
    const frequent = [...totals].sort((a, b) => b[1] - a[1]).slice(0, mostValues).map(([value]) => value);
    const values = frequent.sort((a, b) => (typeof a === "number" ? a - b : a < b ? -1 : 1));
    const rest = totals.size > values.length;
    const shares = counts.map(([policy, groups]) => {
      const all = [...groups.values()].reduce((sum, places) => sum + places.length, 0);
      const own = values.map((value) => (all > 0 ? (groups.get(value)?.length ?? 0) / all : 0));
      return { policy, shares: rest ? [...own, all > 0 ? 1 - own.reduce((sum, part) => sum + part, 0) : 0] : own, jobs: all };
    }).filter((row) => row.jobs > 0);
    const differs = shares.some((row) => row.shares.some((part, i) => Math.abs(part - shares[0].shares[i]) > 1e-9));
    return { column, title, values: rest ? [...values, "other"] : values, shares, differs };
  }).filter(({ values }) => values.length > 0);
}

/** Quantities of the trade-off; `less`: the fewer the better. */
export const traded = {
  cost_usd: { label: "cost", show: money, less: true, least: 0 },
  kept: { label: "jobs that keep their limits", show: share, less: false, least: 0, most: 1 },
  deadline_met_fraction: { label: "deadlines kept", show: share, less: false, least: 0, most: 1 },
  jct_mean_s: { label: "mean JCT", show: duration, less: true, least: 0 },
  jct_p95_s: { label: "p95 JCT", show: duration, less: true, least: 0 },
  jct_p99_s: { label: "p99 JCT", show: duration, less: true, least: 0 },
  fairness_rho_worst: { label: "worst rho", show: factor, less: true, least: 0 },
  makespan_s: { label: "makespan", show: duration, less: true, least: 0 },
  energy_kwh: { label: "energy", show: (kwh) => `${number(kwh)} kWh`, less: true, least: 0 },
  goodput_fraction: { label: "goodput", show: share, less: false, least: 0, most: 1 },
};

const pairs = {
  configuration: [["cost_usd", "deadline_met_fraction"], ["cost_usd", "kept"], ["cost_usd", "jct_mean_s"], ["cost_usd", "energy_kwh"]],
  queue: [["jct_mean_s", "jct_p99_s"], ["jct_mean_s", "jct_p95_s"], ["jct_mean_s", "deadline_met_fraction"], ["jct_mean_s", "fairness_rho_worst"], ["jct_mean_s", "makespan_s"], ["cost_usd", "jct_mean_s"]],
  nodes: [["cost_usd", "jct_mean_s"], ["cost_usd", "kept"], ["jct_mean_s", "goodput_fraction"]],
};

/** { mean, low, high } of a quantity of the trade-off, within what is possible; null where it is not known. */
export function tradedValue(row, quantity) {
  const { least = -Infinity, most = Infinity } = traded[quantity];
  const jobs = mean(row, "jobs");
  const kept = quantity === "kept" && jobs > 0;
  const value = row[kept ? "limits_broken" : quantity];
  if (typeof value?.mean !== "number") return null;
  const of = (number) => (typeof number !== "number" ? null : Math.min(most, Math.max(least, kept ? 1 - number / jobs : number)));
  const ends = [of(value.ci95_low), of(value.ci95_high)];
  return { mean: of(value.mean), low: kept ? ends[1] : ends[0], high: kept ? ends[0] : ends[1] };
}

/** From the least to the most of means and their intervals: what an axis must hold so that no whisker is cut. */
export function extent(values) {
  const ends = values.flatMap(({ mean, low, high }) => [mean, low ?? mean, high ?? mean]);
  return [Math.min(...ends), Math.max(...ends)];
}

/**
 * What can be set against what: pairs of quantities that both differ between policies. First stand pairs that all policies have (of some
 * a quantile may be never) and in which they differ by more than half a per cent without yardsticks' help.
 */
export function tradeOffs(kind, policies) {
  const varies = (quantity, rows, least) => {
    const known = rows.map((p) => tradedValue(p, quantity)?.mean).filter((v) => typeof v === "number");
    return known.length > 1 && spread(known) > least;
  };
  const possible = pairs[kind].filter((pair) => pair.every((quantity) => varies(quantity, policies, 5e-4)));
  const own = policies.filter((p) => !isYardstick(p.policy));
  const tells = (pair) => pair.every((quantity) => varies(quantity, own, 5e-3) && own.every((p) => typeof tradedValue(p, quantity)?.mean === "number"));
  return [...possible.filter(tells), ...possible.filter((pair) => !tells(pair))];
}

/**
 * Where a policy stands in the verdict, in the words of the terminal's table; of queues by completion times. `name`: as files have it.
 * Nothing in results of older programs.
 */
export const standingOf = ({ verdict, completion_verdict: completion }, name) => (completion ?? verdict)?.policies?.find((p) => p.policy === name)?.in_words ?? "";

/** Of columns { text(row) }: those whose text differs between the rows, and the others with their one text. */
export function apart(columns, rows) {
  const differ = [];
  const same = [];
  for (const column of columns) {
    const texts = new Set(rows.map((row) => column.text(row)));
    if (texts.size > 1 || rows.length < 2) differ.push(column);
    else same.push({ column, text: [...texts][0] });
  }
  return { differ, same };
}

/** How many digits a per cent needs so that steps of this share can be told apart: 0.05 none, 0.0005 two. */
export const shareDigits = (step) => [0, 1, 2, 3].find((digits) => Math.abs(100 * step * 10 ** digits - Math.round(100 * step * 10 ** digits)) < 1e-6) ?? 4;

/** Round ends and step for an axis over [low, high], within [least, most]. */
export function roundRange(low, high, { least = -Infinity, most = Infinity } = {}) {
  const width = high > low ? high - low : Math.max(Math.abs(high), 1e-9) * 0.2;
  const rough = width / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= rough * 0.999);
  const at = (value) => +value.toPrecision(12);
  return { min: at(Math.max(least, Math.floor((low - 0.04 * width) / step) * step)), max: at(Math.min(most, Math.ceil((high + 0.04 * width) / step) * step)), interval: step };
}

/**
 * Where the name of each point stands: "top", "bottom", "right" or "left", the first where it neither leaves the plot nor lies on a
 * point or on a name that stands already; null: nowhere. `points`: { x, y, letters } in pixels of a plot of this width and height.
 */
export function labelPlaces(points, width, height) {
  const [half, letter, gap] = [7, 6.6, 10];
  const taken = points.map(({ x, y }) => [x - 9, y - 9, x + 9, y + 9]);
  const apartFrom = ([l, t, r, b]) => ([l2, t2, r2, b2]) => r <= l2 || r2 <= l || b <= t2 || b2 <= t;
  return points.map(({ x, y, letters }, i) => {
    const long = letters * letter;
    const boxes = {
      top: [x - long / 2, y - gap - 2 * half, x + long / 2, y - gap],
      bottom: [x - long / 2, y + gap, x + long / 2, y + gap + 2 * half],
      right: [x + gap, y - half, x + gap + long, y + half],
      left: [x - gap - long, y - half, x - gap, y + half],
    };
    const fits = ([l, t, r, b]) => l >= 0 && r <= width && t >= -half && b <= height;
    const found = Object.entries(boxes).find(([, box]) => fits(box) && taken.every((other, k) => k === i || apartFrom(box)(other)));
    if (found) taken.push(found[1]);
    return found?.[0] ?? null;
  });
}
