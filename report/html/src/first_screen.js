// The first screen of a run: the verdict, what is traded for what, what each policy chose, and how firm the verdict is.
import { grid, legend, valueAxis } from "./axes.js";
import { chosenShares, extent, labelPlaces, roundRange, shareDigits, traded, tradedValue, tradeOffs } from "./conclusions.js";
import { chart, drawn, frame, tooltip } from "./figure.js";
import { factor, money, number, share, tick, timeUnit } from "./format.js";
import { choice, element, keyList } from "./page.js";
import { isYardstick } from "./palette.js";
import { onTheme, pointStyle, policyStyle, theme } from "./theme.js";

/** The verdict in a sentence, as the terminal says it; with one, what it depends on. Of queues first by completion times. */
export function verdict({ summary }) {
  const { verdict: judged, completion_verdict: completion, certificate } = summary;
  return [
    completion && element("p", { class: "verdict", "data-completion-verdict": completion.outcome }, completion.sentence),
    judged?.sentence && element("p", { class: completion ? "note" : "verdict", "data-verdict": judged.outcome }, `${completion ? "By money: " : ""}${judged.sentence}`),
    certificate?.sentence && certificate.changes.length === 0 && element("p", { class: "note" }, certificate.sentence),
  ].filter(Boolean);
}

/** An axis of a quantity of the trade-off that holds all points with their intervals. */
function tradeAxis(colours, quantity, values, more) {
  const { label, show, least, most } = traded[quantity];
  const isTime = show !== money && quantity.endsWith("_s");
  const unit = isTime ? timeUnit(Math.max(...values.map((v) => v.mean))) : { seconds: 1 };
  const [low, high] = extent(values).map((value) => value / unit.seconds);
  const range = roundRange(low, high, { least, most });
  if (range.max === most) range.max += 0.05 * (range.max - range.min); // room for the symbol
  const isShare = most === 1;
  const name = isTime ? `${label}, ${unit.name}` : show === money ? `${label}, $` : quantity === "energy_kwh" ? `${label}, kWh` : label;
  return { scale: 1 / unit.seconds, axis: valueAxis(colours, name, { ...range, axisLabel: { color: colours.muted, hideOverlap: true, formatter: isShare ? (v) => (v > most + 1e-9 ? "" : share(v, shareDigits(range.interval))) : tick }, ...more }) };
}

export function tradeOff(run) {
  const possible = tradeOffs(run.kind, run.policies);
  if (possible.length === 0) return null;
  const named = ([x, y]) => `${traded[x].label} against ${traded[y].label}`;
  let pair = possible[0];
  const points = () => run.policies.map((p) => ({ policy: p.policy, x: tradedValue(p, pair[0]), y: tradedValue(p, pair[1]) })).filter(({ x, y }) => x && y);
  const direction = () => `${traded[pair[0]].less ? "left" : "right"} and ${traded[pair[1]].less ? "down" : "up"}`;
  const interval = ({ low, high }, show) => (low === null ? "" : ` [${show(low)}, ${show(high)}]`);
  const hasIntervals = points().some(({ x, y }) => x.low !== null || y.low !== null);
  const figure = chart({
    title: "Trade-off",
    note: `A point a policy${hasIntervals ? ", with its 95 % intervals" : ""}.${run.policies.some((p) => isYardstick(p.policy)) ? " Hollow and grey: a yardstick, which knows what no policy can." : ""}`,
    redraw: true, // names go where there is room
    controls: possible.length > 1 ? [choice("Show", possible.map((p, i) => [String(i), named(p)]), "0", (i) => {
      pair = possible[Number(i)];
      figure.update();
    })] : [],
    csv: () => ({ columns: ["policy", ...pair.flatMap((q) => [q, `${q}_ci95_low`, `${q}_ci95_high`])], rows: points().map(({ policy, x, y }) => [policy, x.mean, x.low, x.high, y.mean, y.low, y.high]) }),
    option: (colours) => {
      const shown = points();
      const x = tradeAxis(colours, pair[0], shown.map((p) => p.x), { nameGap: 26 });
      const y = tradeAxis(colours, pair[1], shown.map((p) => p.y), { nameGap: 46 });
      x.axis.name += ` (better: ${direction()})`;
      const [wide, high] = [figure.node.clientWidth - 110, 310]; // of the plot, about
      const within = (value, { scale, axis: { min, max } }) => (value * scale - min) / (max - min);
      const labels = labelPlaces(shown.map((p) => ({ x: within(p.x.mean, x) * wide, y: (1 - within(p.y.mean, y)) * high, letters: p.policy.length })), wide, high);
      const whole = ({ low, high, mean }) => [low ?? mean, high ?? mean];
      return {
        boxHeight: 380,
        grid: grid({ top: 14 }),
        legend: legend(),
        xAxis: x.axis,
        yAxis: y.axis,
        tooltip: tooltip(colours, { formatter: ({ seriesName }) => {
          const p = shown.find(({ policy }) => policy === seriesName);
          return `${seriesName}\n${traded[pair[0]].label} ${traded[pair[0]].show(p.x.mean)}${interval(p.x, traded[pair[0]].show)}\n${traded[pair[1]].label} ${traded[pair[1]].show(p.y.mean)}${interval(p.y, traded[pair[1]].show)}`;
        } }),
        series: shown.flatMap((p, i) => {
          const style = policyStyle(colours, run.places, p.policy);
          const at = [p.x.mean * x.scale, p.y.mean * y.scale];
          return [{
            type: "scatter",
            name: p.policy,
            symbol: style.symbol,
            symbolSize: 13,
            z: 4,
            itemStyle: pointStyle(colours, style),
            label: { show: labels[i] !== null, formatter: p.policy, position: labels[i] ?? "right", color: colours.text, fontSize: 11, textBorderColor: colours.surface, textBorderWidth: 3 },
            data: [at],
          }, {
            type: "custom",
            name: p.policy,
            silent: true,
            clip: true,
            tooltip: { show: false },
            data: [[...at, ...whole(p.x).map((v) => v * x.scale), ...whole(p.y).map((v) => v * y.scale)]],
            renderItem: (_, api) => {
              const [cx, cy] = api.coord([api.value(0), api.value(1)]);
              const [x1] = api.coord([api.value(2), api.value(1)]);
              const [x2] = api.coord([api.value(3), api.value(1)]);
              const [, y1] = api.coord([api.value(0), api.value(4)]);
              const [, y2] = api.coord([api.value(0), api.value(5)]);
              const line = (shape) => ({ type: "line", shape, style: { stroke: style.colour, lineWidth: 1.5, opacity: 0.7 } });
              return { type: "group", children: [line({ x1, y1: cy, x2, y2: cy }), line({ x1: cx, y1, x2: cx, y2 })] };
            },
          }];
        }),
      };
    },
  });
  return figure;
}

/** Shades of one hue for values with an order. */
function shade(i, count) {
  const [light, dark] = [[222, 235, 247], [107, 174, 214]];
  const at = count > 1 ? i / (count - 1) : 0;
  return `rgb(${light.map((from, k) => Math.round(from + (dark[k] - from) * at)).join(",")})`;
}

/** What each policy chose: a bar a policy, for pools, workers and batch sizes. */
export function chosen(run) {
  if (!run.jobs || run.policies.length === 0) return null;
  const parts = chosenShares(run.jobs);
  const order = run.names;
  const text = (value) => (typeof value === "number" ? number(value) : value);
  const alike = parts.filter(({ differs, shares, values }) => (shares.length > 1 ? !differs : values.length < 2));
  for (const { title, values } of alike)
    run.same(`${title.toLowerCase()} (${run.policies.length > 1 ? "the same under every policy: " : ""}${values.map(text).join(", ")})`);
  const shown = parts.filter((part) => !alike.includes(part));
  if (shown.length === 0) return null;
  const { node, box } = frame({
    title: "What each policy chose",
    note: "Share of the jobs that started, by what they ran on at last. First repetition.",
    height: 0,
    csv: () => ({ columns: ["policy", "choice", "value", "share"], rows: shown.flatMap(({ column, values, shares }) => shares.flatMap((row) => values.map((value, i) => [row.policy, column, value, row.shares[i]]))) }),
  });
  box.style.height = "auto";
  box.classList.add("choices");
  function draw() {
    const colours = theme();
    const colourOf = (column, i, count) => (column === "pool" ? colours.parts[i % colours.parts.length] : shade(i, count));
    box.replaceChildren(...shown.map(({ column, title, values, shares }) => {
      const keys = element("ul", { class: "keys" });
      keyList(keys, values.map((value, i) => ({ name: text(value), colour: colourOf(column, i, values.length), fixed: true })), new Set());
      const bars = [...shares].sort((a, b) => order.indexOf(a.policy) - order.indexOf(b.policy)).flatMap((row) => {
        const bar = element("span", { class: "bar", role: "img", "aria-label": `${row.policy}: ${values.map((value, i) => [row.shares[i], value]).filter(([part]) => part > 0).map(([part, value]) => `${text(value)} ${share(part, 0)}`).join(", ")}` },
          ...values.map((value, i) => [value, row.shares[i], i]).filter(([, part]) => part > 0.0005).map(([value, part, i]) => {
            const piece = element("span", { title: `${title.toLowerCase()} ${text(value)}: ${share(part)}` }, part > 0.12 ? `${text(value)}` : "");
            piece.style.width = `${100 * part}%`;
            piece.style.background = colourOf(column, i, values.length);
            return piece;
          }));
        return [element("span", {}, row.policy), bar];
      });
      return element("div", { "data-choice": column }, element("h4", {}, title), element("div", { class: "shares" }, ...bars), keys);
    }));
    drawn(node, box.children.length);
  }
  onTheme(draw);
  return { node, update: draw };
}

/** Where the bars of a certificate lie: from `low` to `high`, by the logarithm where these are factors. */
function positions(changes, isFactor) {
  const values = changes.flatMap((c) => [c.unchanged, c.holds_to, c.falls_at ?? c.holds_to]);
  const [low, high] = isFactor ? [Math.min(...values, 1 / 1.1), Math.max(...values, 2)] : [Math.min(0, ...values), Math.max(...values, ...changes.map((c) => c.likely)) * 1.1];
  const place = isFactor ? (v) => Math.log(v / low) / Math.log(high / low) : (v) => (v - low) / (high - low);
  const marks = isFactor ? [0.125, 0.25, 0.5, 1, 2, 4, 8, 16].filter((v) => v >= low && v <= high) : [low, (low + high) / 2, high].map((v) => +v.toPrecision(2));
  return { at: (v) => `${(100 * place(v)).toFixed(2)}%`, between: (a, b) => `${(100 * Math.abs(place(b) - place(a))).toFixed(2)}%`, marks };
}

export function certificate({ summary }) {
  const firm = summary.certificate;
  if (!firm || firm.changes.length === 0) return null;
  const { node, box } = frame({
    title: "How firm the verdict is",
    note: `${firm.sentence} Blue: ${firm.winner} stays the winner; striped: somewhere here it stops being so; the thin line is the scenario as it is.`,
    wide: true,
    height: 0,
    csv: () => ({ columns: ["quantity", "unchanged", "holds_to", "falls_at", "instead"], rows: firm.changes.map((c) => [c.quantity, c.unchanged, c.holds_to, c.falls_at, c.instead]) }),
  });
  box.style.height = "auto";
  const value = (c, v) => (c.is_factor ? `${factor(v)} ×` : number(v, 3));
  const piece = (kind, left, width) => {
    const part = element("span", { class: kind });
    part.style.left = left;
    if (width) part.style.width = width;
    return part;
  };
  function rows(changes, isFactor) {
    if (changes.length === 0) return [];
    const { at, between, marks } = positions(changes, isFactor);
    const scale = element("div", { class: "scale", "aria-hidden": "true" }, ...marks.map((mark) => {
      const text = element("span", {}, isFactor ? `${mark < 1 ? `1/${number(1 / mark)}` : number(mark)} ×` : number(mark, 2));
      text.style.left = at(mark);
      return text;
    }));
    return [...changes.flatMap((c) => {
      const falls = typeof c.falls_at === "number";
      const least = (a, b) => (a < b ? a : b);
      return [element("span", {}, c.quantity), element("div", { "data-change": c.quantity, "data-holds": c.holds_to, "data-falls": falls ? c.falls_at : "" },
        element("div", { class: "track" },
          piece("holds", at(least(c.unchanged, c.holds_to)), between(c.unchanged, c.holds_to)),
          falls ? piece("unsure", at(least(c.holds_to, c.falls_at)), between(c.holds_to, c.falls_at)) : null,
          falls ? piece("falls", at(c.falls_at)) : null,
          piece("now", at(c.unchanged))),
        element("div", { class: "says" }, falls ? `holds to ${value(c, c.holds_to)}, falls at ${value(c, c.falls_at)}: ${c.instead}` : `nothing reversed it up to ${value(c, c.holds_to)}`,
          c.likely ? `; it may well be ${c.is_factor ? `${factor(c.likely)} times off` : `up to ${number(c.likely, 3)}`}` : ""))];
    }), element("span", {}), scale];
  }
  box.append(element("div", { class: "firm" }, ...rows(firm.changes.filter((c) => !c.is_factor), false), ...rows(firm.changes.filter((c) => c.is_factor), true)));
  drawn(node, firm.changes.length);
  return { node };
}
