// Charts that studies have beside their tables: money against deadlines, and money on the grid of resources and batch sizes.
import { grid, legend, logAxis, nameAxis } from "./axes.js";
import { chart, tooltip } from "./figure.js";
import { duration, money, number, share, timeUnit } from "./format.js";
import { choice } from "./page.js";
import { frontiers, heatColour, heatMaps } from "./study_data.js";
import { slotsOf } from "./palette.js";
import { policyStyle } from "./theme.js";

/** A line joins points that keep the limits; rings broke one. */
function frontier({ job, floors }) {
  let shown = floors[Math.floor(floors.length / 2)];
  const deadlines = floors.flatMap(({ lines }) => lines.flatMap(({ points }) => points.map(([deadline]) => deadline)));
  const unit = timeUnit(Math.max(...deadlines));
  const places = slotsOf([...new Set(floors.flatMap(({ lines }) => lines.map(({ policy }) => policy)))]);
  const figure = chart({
    title: `Cost against deadline: ${job}`,
    note: "Money against the deadline; rings: a limit was broken in some repetition.",
    wide: true,
    controls: floors.length > 1 ? [choice("Accuracy floor", floors.map(({ floor }, i) => [String(i), share(floor)]), String(floors.indexOf(shown)), (i) => {
      shown = floors[Number(i)];
      figure.update();
    })] : [],
    csv: () => ({ columns: ["policy", "deadline_s", "cost_usd", "kept"], rows: shown.lines.flatMap(({ policy, points }) => points.map((point) => [policy, ...point])) }),
    option: (colours) => ({
      boxHeight: 400,
      grid: grid(),
      legend: legend(shown.lines.map(({ policy }) => policy)),
      xAxis: logAxis(colours, "deadline", deadlines.map((d) => d / unit.seconds), { seconds: unit.seconds }),
      yAxis: logAxis(colours, "cost, $", shown.lines.flatMap(({ points }) => points.map(([, cost]) => cost)), { nameGap: 48 }),
      tooltip: tooltip(colours, { formatter: ({ seriesName, data }) => `${seriesName}\n${duration(data.value[0] * unit.seconds)}: ${money(data.value[1])}${data.kept ? "" : ", a limit broken"}` }),
      series: shown.lines.flatMap(({ policy, points }) => {
        const { colour, dash, symbol } = policyStyle(colours, places, policy);
        const at = ([deadline, cost, kept]) => ({ value: [deadline / unit.seconds, cost], kept,
          itemStyle: kept ? { color: colour } : { color: "transparent", borderColor: colour, borderWidth: 1.5 } });
        return [
          { type: "line", name: policy, symbol, symbolSize: 7, lineStyle: { color: colour, type: dash, width: 2 }, itemStyle: { color: colour },
            data: points.map((point) => (point[2] ? at(point) : { value: [point[0] / unit.seconds, null] })) },
          { type: "scatter", name: policy, symbol, symbolSize: 8, data: points.filter(([, , kept]) => !kept).map(at) },
        ];
      }),
    }),
  });
  return figure;
}

function heatMap({ job, names, batches, cells }) {
  const most = Math.max(...cells.filter(({ kept }) => kept).map(({ value }) => value), 1);
  return chart({
    title: `Cost by resources and batch size: ${job}`,
    note: "Money over the least that keeps the limits, by resources and global batch size; bright is cheap, grey breaks a limit, the cheapest has a frame.",
    wide: true,
    csv: () => ({ columns: ["resources", "batch_size", "over_least", "keeps_limits"], rows: cells.map(({ row, column, value, kept }) => [names[row], batches[column], value, kept]) }),
    option: (colours) => ({
      boxHeight: Math.max(160, names.length * 24 + 70),
      grid: grid({ bottom: 8 }),
      xAxis: nameAxis(colours, batches.map((batch) => number(batch)), { inverse: false, name: "global batch size", nameLocation: "middle", nameGap: 28, nameTextStyle: { color: colours.muted } }),
      yAxis: nameAxis(colours, names),
      tooltip: tooltip(colours, { formatter: ({ dataIndex }) => {
        const { row, column, value, kept } = cells[dataIndex];
        return `${names[row]}, batch ${number(batches[column])}\n${number(value)} times the least${kept ? "" : ", a limit broken"}`;
      } }),
      series: [{
        type: "custom",
        encode: { x: 0, y: 1 },
        data: cells.map(({ row, column }) => [column, row]),
        renderItem: ({ dataIndex }, api) => {
          const cell = cells[dataIndex];
          const [x, y] = api.coord([cell.column, cell.row]);
          const [width, height] = api.size([1, 1]);
          return {
            type: "rect",
            shape: { x: x - width / 2 + 0.5, y: y - height / 2 + 0.5, width: width - 1, height: height - 1 },
            style: { fill: cell.kept ? heatColour(cell.value, most) : "#d8d8d8", stroke: cell.best ? colours.bad : undefined, lineWidth: cell.best ? 3 : 0 },
            z2: cell.best ? 2 : 1,
            textContent: { type: "text", style: { text: number(cell.value, 3), fill: "#000", fontSize: 11 } },
            textConfig: { position: "inside" },
          };
        },
      }],
    }),
  });
}

const known = { frontier: ({ rows }) => frontiers(rows).map(frontier), grid: ({ rows }) => heatMaps(rows).map(heatMap) };
const needed = { frontier: ["job", "target_accuracy", "deadline_s", "cost_usd", "kept_fraction"], grid: ["job", "pool", "workers", "batch_size", "cost_usd", "keeps_limits"] };

/** Figures for a study's table besides the chart of any two columns. */
export function chartsOf(table) {
  return (needed[table.name] ?? [null]).every((column) => table.columns.includes(column)) ? known[table.name](table) : [];
}
