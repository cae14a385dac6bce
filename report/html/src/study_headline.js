// What a study's report begins with: titles of its tables, which comes first, and what it found in a sentence.
import { columnLabel, percent, share } from "./format.js";
import { isYardstick } from "./palette.js";

const titles = {
  claims: "What was claimed and what is found",
  frontier: "Cost against deadline and accuracy floor",
  policies: "Policies over all points",
  savings: "Savings of one policy over another",
  grid: "Every configuration",
  choices: "What each way of choosing chose",
  apart: "What choosing apart costs",
  learning: "Saving against past runs",
  contributions: "Where savings come from",
  placement: "Placement methods",
  "placement-search": "Progress of the searches",
  "placement-splits": "Placement against the splits by hand",
  search: "Search methods",
  "search-front": "Best known trade-offs",
  "search-progress": "Progress of the searches",
  "search-changes": "What changes between spaces",
  "search-targets": "Targets",
  "search-cluster": "The search on a busy cluster",
  threads: "Threads of each operation",
  "threads-strategies": "Ways to choose threads, by model",
  "threads-gains": "Ways to choose threads",
  "threads-curves": "Time of operations against threads",
  "threads-shapes": "Shapes of the curves",
  "threads-anchors": "Against published measurements",
  "threads-estimators": "How well curves are estimated",
  "threads-sensitivity": "What the gains depend on",
  "measured-runs": "Choosing among measured runs",
};

/** A section's title for a table, whatever its file is called. */
export function titleOf(name) {
  const words = columnLabel(name.replaceAll("-", " "));
  return titles[name] ?? words[0].toUpperCase() + words.slice(1);
}

/** What the study is about stands first; tables not named here follow in the order of summary.json. */
const order = ["claims", "policies", "savings", "frontier", "contributions", "learning", "apart", "choices", "threads-gains", "threads-strategies", "search", "search-front", "placement", "measured-runs"];

export const inOrder = (tables) => [...tables].sort((a, b) => place(a) - place(b));
const place = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);

const best = (rows, value) => rows.reduce((most, row) => (most === null || value(row) > value(most) ? row : most), null);
const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const groups = (rows, key) => [...new Set(rows.map(key))].map((name) => rows.filter((row) => key(row) === name));

const sentences = {
  policies(rows) {
    const own = rows.filter((row) => !isYardstick(row.policy) && row.saving_percent !== 0 && typeof row.saving_percent === "number");
    const most = best(own, (row) => row.saving_percent);
    if (!most) return null;
    return `${most.policy} saves most: ${percent(most.saving_percent)} over ${count(most.points, "point")}, and keeps the limits at ${share(most.kept_fraction, 0)} of them.`;
  },
  placement(rows) {
    const cases = groups(rows.filter((row) => row.fits === "true" && typeof row.step_s === "number"), (row) => `${row.graph}|${row.machine}|${row.objective}`);
    const wins = new Map();
    for (const own of cases) {
      const least = Math.min(...own.map((row) => row.step_s));
      for (const row of own) if (row.step_s <= least * (1 + 1e-9)) wins.set(row.method, (wins.get(row.method) ?? 0) + 1);
    }
    const most = best([...wins], ([, n]) => n);
    return most && `${most[0]} has the shortest step in ${most[1]} of ${count(cases.length, "case")} (a graph on a machine).`;
  },
  "threads-gains"(rows) {
    return groups(rows, (row) => row.machine).map((own) => {
      const most = best(own.filter((row) => row.strategy !== "recommended" && !isYardstick(row.strategy)), (row) => row.gain_percent_mean ?? -Infinity);
      return most && `On ${most.machine}, "${most.strategy}" gains most over the recommended setting: ${percent(most.gain_percent_mean)} (from ${percent(most.gain_percent_min)} to ${percent(most.gain_percent_max)} by model).`;
    }).filter(Boolean).join(" ");
  },
  search(rows) {
    return groups(rows, (row) => row.space).map((own) => {
      const most = best(own, (row) => row.hypervolume ?? -Infinity);
      return `In ${most.space}, ${most.method} comes nearest to the best known front: ${share(most.hypervolume)} of its hypervolume after ${count(most.evaluations, "evaluation")}.`;
    }).join(" ");
  },
};

/** What a study found, from its tables [{ name, rows }]; nothing for studies without a sentence of their own. */
export function headline(tables) {
  for (const { name, rows } of inOrder(tables)) {
    const sentence = rows.length > 0 && sentences[name]?.(rows);
    if (sentence) return sentence;
  }
  return null;
}
