// Figures with a bar or a line a policy, from summary.json and from what was counted over all repetitions.
import { barsHeight, grid, legend, logAxis, nameAxis, valueAxis, whiskers } from "./axes.js";
import { distributionPoints } from "./data.js";
import { chart, tooltip } from "./figure.js";
import { duration, money, percent, timeUnit } from "./format.js";
import { mean } from "./conclusions.js";
import { policyStyle } from "./theme.js";

/** Whether a figure's numbers are one and the same for all policies. */
const flat = (values, show) => new Set(values.map(show)).size < 2;

function estimatesCsv(policies, fields) {
  return {
    columns: ["policy", ...fields.flatMap((f) => [f, `${f}_ci95_low`, `${f}_ci95_high`])],
    rows: policies.map((p) => [p.policy, ...fields.flatMap((f) => [p[f]?.mean, p[f]?.ci95_low, p[f]?.ci95_high])]),
  };
}

/** Horizontal bars of several fields with their intervals; none where every policy has the same, or there is one alone. */
function bars({ policies, same }, { title, note, fields, axis, show }) {
  const present = fields.filter(([field]) => policies.some((p) => mean(p, field) !== null));
  if (present.length === 0) return null;
  if (present.every(([field]) => flat(policies.map((p) => mean(p, field)), show))) {
    if (policies.length > 1) same(`${title.toLowerCase()} (${show(mean(policies[0], present[0][0]))})`);
    return null;
  }
  const width = 13;
  return chart({
    title,
    note,
    csv: () => estimatesCsv(policies, present.map(([field]) => field)),
    option: (colours) => ({
      boxHeight: barsHeight(policies.length, 16 + present.length * (width + 3)),
      grid: grid(),
      legend: legend(present.map(([, label]) => label)),
      xAxis: valueAxis(colours, axis),
      yAxis: nameAxis(colours, policies.map((p) => p.policy)),
      series: present.flatMap(([field, label], i) => [
        {
          type: "bar",
          name: label,
          barWidth: width,
          barGap: "20%",
          itemStyle: { color: colours.parts[i] },
          tooltip: { valueFormatter: show },
          data: policies.map((p) => mean(p, field)),
        },
        whiskers(colours, policies.map((p, row) => [p[field]?.ci95_low ?? null, p[field]?.ci95_high ?? null, row]),
          (i - (present.length - 1) / 2) * width * 1.2, label),
      ]),
    }),
  });
}

export const moneyBars = (run) => bars(run, {
  title: "Cost of each policy",
  note: "Effective cost adds, for each job that broke a limit, what its manual configuration would have cost. Lines: 95 % intervals.",
  fields: [["cost_usd", "cost"], ["effective_cost_usd", "effective cost"]],
  axis: "$",
  show: money,
});

export function savings(run) {
  const others = run.policies.filter((p) => p.own_name !== run.summary.baseline);
  return bars({ policies: others, same: run.same }, {
    title: `Saving against ${run.summary.baseline}`,
    note: "Saving: of effective cost, over all jobs. Behind it: over the jobs whose limits both keep. Lines: 95 % intervals.",
    fields: [["effective_saving_percent", "saving"], ["saving_percent", "where both keep limits"]],
    axis: "%",
    show: percent,
  });
}

/** Horizontal bars made of parts. `value(policy, part)`. */
function stacked({ policies, title, note, parts, value, axis, show, csv }) {
  return chart({
    title,
    note,
    wide: true,
    csv,
    option: (colours) => ({
      boxHeight: barsHeight(policies.length, 30),
      tooltip: tooltip(colours, { trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: show }),
      grid: grid(),
      legend: legend(),
      xAxis: valueAxis(colours, axis, axis.startsWith("%") ? { max: 100 } : {}),
      yAxis: nameAxis(colours, policies.map((p) => p.policy)),
      series: parts.map(({ name, colour }, i) => ({
        type: "bar",
        stack: "all",
        name,
        barWidth: 18,
        itemStyle: { color: colour?.(colours) ?? colours.parts[i % colours.parts.length], borderColor: colours.surface, borderWidth: 1 },
        data: policies.map((p) => value(p, name)),
      })),
    }),
  });
}

export function moneyParts({ policies, same }) {
  const fields = { training: "cost_compute_usd", "start-up and checkpoints": "cost_switch_usd", "idle devices' share": "cost_wait_usd",
    "lost training": "cost_lost_usd", profiling: "profiling_cost_usd" };
  const value = (p, name) => (name in fields ? mean(p, fields[name]) : mean(p, "effective_cost_usd") - mean(p, "cost_usd"));
  const parts = [...Object.keys(fields), "broken limits"].filter((name) => policies.some((p) => value(p, name) > 1e-9));
  if (parts.length < 2) {
    if (parts.length === 1) same(`what the money bought (${parts[0]} alone)`);
    return null;
  }
  return stacked({
    policies,
    title: "What the money bought",
    note: "Parts of the effective cost, means over repetitions. Broken limits: what jobs that broke a limit would have cost if configured by hand.",
    parts: parts.map((name) => ({ name, colour: { "lost training": (c) => c.outcomes.both, "broken limits": (c) => c.outcomes.late }[name] })),
    value,
    axis: "$",
    show: money,
    csv: () => ({ columns: ["policy", ...parts.map((name) => `${name}, $`)], rows: policies.map((p) => [p.policy, ...parts.map((name) => value(p, name))]) }),
  });
}

const fateOrder = ["limits kept", "late", "inaccurate", "late and inaccurate", "too dear"];
const fateColours = { "limits kept": "kept", late: "late", inaccurate: "inaccurate", "late and inaccurate": "both", "too dear": "dear" };

export function fates({ policies, counted, same }) {
  const counts = (p) => counted[p.policy]?.fates ?? {};
  const all = [...new Set(policies.flatMap((p) => Object.keys(counts(p))))];
  const names = [...fateOrder.filter((f) => all.includes(f)), ...all.filter((f) => !fateOrder.includes(f)).sort()];
  if (names.length === 0) return null;
  if (names.length === 1) {
    same(`what became of the jobs (${names[0]}, all of them under every policy)`);
    return null;
  }
  const jobs = (p) => Object.values(counts(p)).reduce((sum, n) => sum + n, 0);
  return stacked({
    policies,
    title: "Limits kept and broken",
    note: "Jobs of all repetitions by what became of them. Late: deadline missed. Inaccurate: accuracy floor missed. Too dear: over the cost limit.",
    parts: names.map((name) => ({ name, colour: (c) => c.outcomes[fateColours[name] ?? "failed"] })),
    value: (p, name) => (100 * (counts(p)[name] ?? 0)) / jobs(p),
    axis: "% of jobs",
    show: percent,
    csv: () => ({ columns: ["policy", ...names], rows: policies.map((p) => [p.policy, ...names.map((n) => counts(p)[n] ?? 0)]) }),
  });
}

const curves = {
  completion_s: ["Completion times", "Share of the jobs of all repetitions that were done within this time of their submission. One that failed is never done."],
  waiting_s: ["Waiting times", "Share of the jobs of all repetitions that started within this time of their submission."],
};

export function completionCurve({ policies, counted, places, same }, field) {
  const [title, note] = curves[field];
  const of = (p) => counted[p.policy]?.[field] ?? { count: 0, values: [] };
  const shown = policies.filter((p) => of(p).count > 0);
  const jobs = (p) => Object.values(counted[p.policy]?.fates ?? {}).reduce((sum, n) => sum + n, 0);
  const reached = (p) => (field === "completion_s" ? of(p).count / jobs(p) : 1); // failed jobs are not among the values
  const pointsOf = (p) => distributionPoints(of(p)).map(([value, part]) => [value, part * reached(p)]);
  const largest = Math.max(...shown.flatMap((p) => of(p).values.at(-1)));
  if (shown.length === 0) return null;
  if (!(largest > 0)) {
    same(`${title.toLowerCase()} (0 s for every job)`);
    return null;
  }
  const unit = timeUnit(largest);
  // Half a per cent of the jobs may lie before the axis begins: one of a second would make it some decades longer.
  const smallest = Math.min(...shown.map((p) => of(p).values[of(p).values.length > 200 ? 1 : 0]));
  const wide = smallest > 0 && largest / smallest > 50;
  return chart({
    title,
    note,
    csv: () => ({ columns: ["policy", field, "share"], rows: shown.flatMap((p) => pointsOf(p).map((point) => [p.policy, ...point])) }),
    option: (colours) => ({
      boxHeight: 340,
      grid: grid(),
      legend: legend(),
      xAxis: wide ? logAxis(colours, "time", [smallest / unit.seconds, largest / unit.seconds], { seconds: unit.seconds }) : valueAxis(colours, `time, ${unit.name}`, { min: 0 }),
      yAxis: valueAxis(colours, "share of jobs", { min: 0, max: 1, nameGap: 42, axisLabel: { color: colours.muted, formatter: (v) => percent(100 * v) } }),
      series: shown.map((p) => {
        const { colour, dash } = policyStyle(colours, places, p.policy);
        const points = pointsOf(p).map(([value, part]) => [value / unit.seconds, part]);
        return {
          type: "line",
          name: p.policy,
          step: of(p).count <= 201 ? "end" : false,
          showSymbol: points.length === 1,
          lineStyle: { color: colour, type: dash, width: 2 },
          itemStyle: { color: colour },
          tooltip: { valueFormatter: (part) => percent(100 * part) },
          data: [[points[0][0], 0], ...points].filter(([value]) => !wide || value > 0),
        };
      }),
      tooltip: tooltip(colours, {
        formatter: ({ seriesName, data }) => `${seriesName}\n${percent(100 * data[1])} within ${duration(data[0] * unit.seconds)}`,
      }),
    }),
  });
}

