// Parts of ECharts options that most figures share.
import { tick } from "./format.js";

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

export function legend(colours, more = {}) {
  return {
    type: "scroll",
    bottom: 0,
    itemWidth: 18,
    itemHeight: 10,
    textStyle: { color: colours.text },
    pageTextStyle: { color: colours.muted },
    pageIconColor: colours.text,
    pageIconInactiveColor: colours.line,
    ...more,
  };
}

/** The plot with the names and labels of its axes; below it there is room for the legend. */
export const grid = (more = {}) => ({ left: 4, right: 16, top: 8, bottom: 30, outerBoundsMode: "same", outerBoundsContain: "all", ...more });

/** Height of horizontal bars: so much a row, and the rest of the chart. */
export const barsHeight = (rows, perRow = 34) => Math.max(180, rows * perRow + 110);

/** Horizontal intervals: `data` are [low, high, index of the category]; `offset` in pixels downwards from its middle. */
export function whiskers(colours, data, offset = 0) {
  return {
    type: "custom",
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
