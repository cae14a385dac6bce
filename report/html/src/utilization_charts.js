// Devices in use and jobs in the queue over time.
import { grid, legend, valueAxis } from "./axes.js";
import { groupRows } from "./data.js";
import { chart, tooltip } from "./figure.js";
import { number, share, timeUnit } from "./format.js";
import { choice } from "./page.js";
import { policyStyle, styleOf } from "./theme.js";

const zoom = (colours) => [
  { type: "inside", filterMode: "none" },
  { type: "slider", height: 14, bottom: 4, filterMode: "none", showDataShadow: false, moveHandleSize: 0, brushSelect: false, showDetail: false,
    textStyle: { color: colours.muted }, borderColor: colours.line },
];

function lines(colours, unit, points, style, more = {}) {
  return {
    type: "line",
    step: "end",
    showSymbol: points.length === 1,
    symbolSize: 5,
    lineStyle: { color: style.colour, type: style.dash, width: 1.6 },
    itemStyle: { color: style.colour },
    data: points.map(([time_s, value]) => [time_s / unit.seconds, value]),
    ...more,
  };
}

function overTime(run, { title, note, series, csv, axis, show, controls, percent }) {
  const table = run.utilization;
  const unit = timeUnit(table.time_s.reduce((most, time) => Math.max(most, time), 0));
  return chart({
    title,
    note,
    wide: true,
    controls,
    csv,
    option: (colours) => {
      const made = series(colours, unit);
      const largest = made.reduce((most, { data }) => data.reduce((own, [, value]) => Math.max(own, value), most), 0);
      return {
        boxHeight: 300,
        grid: grid({ bottom: 26 }),
        legend: legend(),
        dataZoom: zoom(colours),
        xAxis: valueAxis(colours, `time, ${unit.name}`, { max: "dataMax" }),
        yAxis: valueAxis(colours, axis, { nameGap: 46, min: 0, ...(percent ? { max: largest > 0.5 ? 1 : undefined, axisLabel: { color: colours.muted, formatter: (v) => share(v) } } : {}) }),
        tooltip: tooltip(colours, { trigger: "axis", valueFormatter: show }),
        series: made,
      };
    },
  });
}

export function busyOverTime(run) {
  const table = run.utilization;
  if (!table || table.rows === 0) return null;
  const byPolicy = groupRows(table.policy);
  const capacity = new Map(run.pools.map((p) => [p.pool, p.nodes * p.devices_per_node]));
  let policy = byPolicy.keys().next().value;
  const figure = overTime(run, {
    title: "Devices in use",
    note: "Share of each pool's devices that jobs hold (solid), and of those that compute (dotted); pools that nobody used are left out. First repetition.",
    controls: [choice("Policy", [...byPolicy.keys()].map((p) => [p, p]), policy, (value) => {
      policy = value;
      figure.update();
    })],
    axis: "share of devices",
    percent: capacity.size > 0,
    show: (value) => share(value),
    csv: () => ({
      columns: ["policy", "time_s", "pool", "allocated_devices", "busy_devices", "devices"],
      rows: byPolicy.get(policy).map((r) => [policy, table.time_s[r], table.pool[r], table.allocated_devices[r], table.busy_devices[r], capacity.get(table.pool[r])]),
    }),
    series: (colours, unit) => {
      const rows = byPolicy.get(policy);
      return [...groupRows(rows.map((row) => table.pool[row]))].flatMap(([pool, places], i) => {
        const colour = styleOf(colours, i).colour;
        const of = (column) => places.map((at) => [table.time_s[rows[at]], column[rows[at]] / (capacity.get(pool) ?? 1)]);
        if (places.every((at) => table.allocated_devices[rows[at]] === 0)) return [];
        return [
          lines(colours, unit, of(table.allocated_devices), { colour, dash: "solid" }, { name: `${pool}, held` }),
          lines(colours, unit, of(table.busy_devices), { colour, dash: "dotted" }, { name: `${pool}, computing` }),
        ];
      });
    },
  });
  return figure;
}

export function queueOverTime(run) {
  const table = run.utilization;
  if (!table) return null;
  if (!table.queued_jobs.some((jobs) => jobs > 0)) {
    run.same("jobs waiting (none, ever)");
    return null;
  }
  const byPolicy = [...groupRows(table.policy)].map(([policy, rows]) => [policy, rows.filter((row) => table.pool[row] === table.pool[rows[0]])]);
  return overTime(run, {
    title: "Jobs waiting",
    note: "In the whole cluster, over time. First repetition.",
    axis: "jobs",
    show: (value) => number(value),
    csv: () => ({ columns: ["policy", "time_s", "queued_jobs"], rows: byPolicy.flatMap(([policy, rows]) => rows.map((r) => [policy, table.time_s[r], table.queued_jobs[r]])) }),
    series: (colours, unit) => byPolicy.map(([policy, rows]) =>
      lines(colours, unit, rows.map((row) => [table.time_s[row], table.queued_jobs[row]]), policyStyle(colours, run.places, policy), { name: policy })),
  });
}
