// Figures with a point a job: money against limits, predicted against actual.
import { grid, legend, logAxis, valueAxis } from "./axes.js";
import { groupRows } from "./data.js";
import { chart, tooltip } from "./figure.js";
import { duration, money, number, share } from "./format.js";
import { choice } from "./page.js";
import { pointStyle, policyStyle } from "./theme.js";

const limits = {
  deadline_s: { title: "Cost against deadline", axis: "deadline", scale: 1 / 3600, show: duration, met: "deadline_met" },
  target_accuracy: { title: "Cost against accuracy floor", axis: "accuracy floor", scale: 1, show: (a) => share(a, 2), met: "accuracy_met" },
};

/** A hollow symbol is a job that broke that limit. */
export function costAgainst({ jobs, sampled, places: policyPlaces }, field) {
  if (!jobs?.[field] || !jobs.cost_usd) return null;
  const limit = limits[field];
  const rows = [...Array(jobs.rows).keys()].filter((row) => jobs[field][row] !== null && jobs.cost_usd[row] > 0);
  if (rows.length === 0) return null;
  const byPolicy = [...groupRows(rows.map((row) => jobs.policy[row]))].map(([policy, places]) => [policy, places.map((i) => rows[i])]);
  return chart({
    title: limit.title,
    note: `A point for each ${sampled ? "job of an even sample" : "job"} of the first repetition; hollow: that limit was broken.`,
    csv: () => ({ columns: ["policy", "job", field, "cost_usd", limit.met], rows: rows.map((r) => [jobs.policy[r], jobs.job[r], jobs[field][r], jobs.cost_usd[r], jobs[limit.met]?.[r]]) }),
    option: (colours) => ({
      boxHeight: 360,
      grid: grid(),
      legend: legend(),
      xAxis: field === "deadline_s" ? logAxis(colours, limit.axis, rows.map((row) => jobs[field][row] * limit.scale), { seconds: 3600 })
        : valueAxis(colours, limit.axis, { scale: true, axisLabel: { color: colours.muted, hideOverlap: true, formatter: (v) => share(v) } }),
      yAxis: logAxis(colours, "cost, $", rows.map((row) => jobs.cost_usd[row]), { nameGap: 44 }),
      tooltip: tooltip(colours, {
        formatter: ({ seriesName, data }) => {
          const row = data.row ?? data[2];
          return `${jobs.job[row]} (${seriesName})\n${limit.show(jobs[field][row])}: ${money(jobs.cost_usd[row])}${jobs[limit.met]?.[row] === "false" ? ", limit broken" : ""}`;
        },
      }),
      series: byPolicy.map(([policy, own]) => {
        const { colour, symbol } = policyStyle(colours, policyPlaces, policy);
        const hollow = { color: "transparent", borderColor: colour, borderWidth: 1.5, opacity: 1 };
        const many = own.length > 5000;
        return {
          type: "scatter",
          name: policy,
          symbol,
          symbolSize: many ? 3 : own.length > 100 ? 5 : 8,
          large: many,
          itemStyle: { color: colour, opacity: own.length > 100 ? 0.55 : 0.85 },
          data: own.map((row) => {
            const point = [jobs[field][row] * limit.scale, jobs.cost_usd[row], row];
            return !many && jobs[limit.met]?.[row] === "false" ? { value: point, row, itemStyle: hollow } : point;
          }),
        };
      }),
    }),
  });
}

const quantities = {
  time_s: ["time from start to end", "h", 1 / 3600, duration],
  cost_usd: ["cost", "$", 1, money],
  accuracy: ["accuracy", "", 1, (a) => share(a, 2)],
  epochs: ["epochs", "", 1, number],
};

export function predictions({ predictions: table, names, sampled, places: policyPlaces, same }) {
  if (!table || table.rows === 0) return null;
  if (table.predicted.every((expected, row) => expected === table.actual[row])) {
    same("predictions (what every policy expected is what came)");
    return null;
  }
  const byQuantity = groupRows(table.quantity);
  const known = [...byQuantity.keys()].filter((q) => q in quantities);
  if (known.length === 0) return null;
  let shown = known[0];
  const figure = chart({
    title: "Predicted and actual",
    note: `What the policy expected of the configuration that it chose, against what came of it; on the line it was right. First repetition${sampled ? ", an even sample of its jobs" : ""}.`,
    wide: true,
    controls: [choice("Quantity", known.map((q) => [q, quantities[q][0]]), shown, (value) => {
      shown = value;
      figure.update();
    })],
    csv: () => ({ columns: ["policy", "job", "quantity", "predicted", "actual"], rows: [...Array(table.rows).keys()].map((r) => [table.policy[r], table.job[r], table.quantity[r], table.predicted[r], table.actual[r]]) }),
    option: (colours) => {
      const [label, unit, scale, show] = quantities[shown];
      const rows = byQuantity.get(shown).filter((row) => table.predicted[row] > 0 && table.actual[row] > 0);
      const all = rows.flatMap((row) => [table.predicted[row] * scale, table.actual[row] * scale]);
      const ends = all.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, 0]);
      const named = (name) => `${name} ${label}${unit && shown !== "time_s" ? `, ${unit}` : ""}`;
      const axis = (name, more) => (shown === "accuracy"
        ? valueAxis(colours, named(name), { scale: true, axisLabel: { color: colours.muted, hideOverlap: true, formatter: (v) => share(v) }, ...more })
        : logAxis(colours, named(name), ends, { ...(shown === "time_s" ? { seconds: 3600 } : {}), ...more }));
      return {
        boxHeight: 420,
        grid: grid(),
        legend: legend(names.filter((name) => rows.some((row) => table.policy[row] === name))),
        xAxis: axis("predicted"),
        yAxis: axis("actual", { nameGap: 50 }),
        tooltip: tooltip(colours, { formatter: ({ seriesName, data }) => `${table.job[data[2]]} (${seriesName})\npredicted ${show(table.predicted[data[2]])}, actual ${show(table.actual[data[2]])}` }),
        series: [
          ...[...groupRows(rows.map((row) => table.policy[row]))].map(([policy, places]) => {
            const style = policyStyle(colours, policyPlaces, policy);
            return {
              type: "scatter",
              name: policy,
              symbol: style.symbol,
              symbolSize: places.length > 300 ? 4 : 7,
              itemStyle: { ...pointStyle(colours, style), opacity: 0.6 },
              data: places.map((i) => [table.predicted[rows[i]] * scale, table.actual[rows[i]] * scale, rows[i]]),
            };
          }),
          { type: "line", silent: true, showSymbol: false, lineStyle: { color: colours.muted, width: 1, type: "dashed" }, tooltip: { show: false }, data: [[ends[0], ends[0]], [ends[1], ends[1]]] },
        ],
      };
    },
  });
  return figure;
}
