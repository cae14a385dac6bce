// Parts of ECharts options that most figures share.
import { tick, timeTick } from "./format.js";

export function valueAxis(colours, name, more = {}) {
  return {
    type: "value",
    name,
    nameLocation: "middle",
    nameGap: 28,
    nameTextStyle: { color: colours.muted },
    axisLine: { show: true, lineStyle: { color: colours.line } },
    axisTick: { lineStyle: { color: colours.line } },
    axisLabel: { color: colours.muted, formatter: tick, hideOverlap: true },
    splitLine: { lineStyle: { color: colours.line, opacity: 0.5 } },
    ...more,
  };
}

/** Of a name each: policies from the top down. */
export function nameAxis(colours, names, more = {}) {
  return {
    type: "category",
    data: names,
    inverse: true,
    axisLine: { lineStyle: { color: colours.line } },
    axisTick: { show: false },
    axisLabel: { color: colours.text, interval: 0, width: 150, overflow: "truncate" },
    ...more,
  };
}

/** Asks for a legend; `data`: of these names alone. figure.js makes it, below the chart. */
export const legend = (data) => ({ data });

const clock = [1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((n) => 60 * n), ...[1, 2, 3, 6, 12].map((n) => 3600 * n), ...[1, 2, 5, 10, 20, 50, 100].map((n) => 86400 * n)];
const times = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 864000, 8640000];

/** Round places of a logarithmic axis: 1, 2 and 5 times powers of ten, fewer over many; of times 1 s, 10 s, 1 min, 10 min, 1 h ... */
export function logTicks(low, high, isTime = false) {
  const within = (at) => at >= low * 0.999999 && at <= high * 1.000001;
  if (isTime && high / low > 100) return times.filter(within);
  if (isTime && high / low > 3 && low >= 0.5) return clock.filter(within);
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : decades > 0.6 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9];
  const first = Math.floor(Math.log10(low));
  return Array.from({ length: Math.ceil(decades) + 2 }, (_, i) => steps.map((step) => +(step * 10 ** (first + i)).toPrecision(12))).flat().filter(within);
}

/**
 * A logarithmic axis that begins and ends where its values do, with a little room, rather than at powers of ten. `seconds`: how long
 * its unit is, when it is one of time; its labels then have their own units.
 */
export function logAxis(colours, name, values, { seconds, ...more } = {}) {
  const known = values.filter((value) => value > 0);
  const room = Math.max(1.02, (Math.max(...known) / Math.min(...known)) ** 0.04);
  const [low, high] = [Math.min(...known) / room, Math.max(...known) * room];
  const scale = seconds ?? 1;
  const at = logTicks(low * scale, high * scale, seconds !== undefined).map((value) => value / scale);
  return valueAxis(colours, name, {
    type: "log",
    min: low,
    max: high,
    axisTick: { customValues: at, lineStyle: { color: colours.line } },
    axisLabel: { customValues: at, color: colours.muted, hideOverlap: true, formatter: (value) => (seconds ? timeTick(+(value * scale).toPrecision(6)) : tick(value)) },
    ...more,
  });
}

/** The plot with the names and labels of its axes. */
export const grid = (more = {}) => ({ left: 4, right: 18, top: 8, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all", ...more });

/** Height of horizontal bars: so much a row, and the rest of the chart. */
export const barsHeight = (rows, perRow = 34) => Math.max(120, rows * perRow + 70);

/** Horizontal intervals: `data` are [low, high, index of the category]; `offset` in pixels downwards from its middle. */
export function whiskers(colours, data, offset = 0, name = undefined) {
  return {
    type: "custom",
    name,
    silent: true,
    tooltip: { show: false },
    z: 5,
    encode: { x: [0, 1], y: 2 },
    data: data.filter(([low, high]) => low !== null && high !== null),
    renderItem: (_, api) => {
      const [x1, y] = api.coord([api.value(0), api.value(2)]);
      const [x2] = api.coord([api.value(1), api.value(2)]);
      const line = (shape) => ({ type: "line", shape, style: { stroke: colours.text, lineWidth: 1.5 } });
      const at = y + offset;
      return {
        type: "group",
        children: [
          line({ x1, y1: at, x2, y2: at }),
          line({ x1, y1: at - 4, x2: x1, y2: at + 4 }),
          line({ x1: x2, y1: at - 4, x2, y2: at + 4 }),
        ],
      };
    },
  };
}
