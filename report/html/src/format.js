// Numbers as people read them.

const dash = "–";
const missing = (value) => value === null || value === undefined || Number.isNaN(value);

/** To four significant digits, thousands apart; very large and small ones in powers of ten. */
export function number(value, digits = 4) {
  if (missing(value)) return dash;
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e12)) return value.toExponential(digits - 1);
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return value.toLocaleString("en-US", { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(size + 1))) });
}

export function money(value) {
  return missing(value) ? dash : (value < 0 ? "−$" : "$") + number(Math.abs(value));
}

/** "64 %", "98.6 %": no digits that say nothing. */
export function percent(value, digits = 1) {
  if (missing(value)) return dash;
  const text = Math.abs(value).toFixed(digits).replace(/\.0+$/, "");
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text + " %";
}

/** Less than all is not written as 100 %, as long as one or two more digits can tell. */
export function share(fraction, digits = 1) {
  if (missing(fraction)) return dash;
  const more = fraction < 1 ? [0, 1, 2].find((n) => Number((100 * fraction).toFixed(digits + n)) < 100) ?? 0 : 0;
  return percent(100 * fraction, digits + more);
}

/** How many times: two decimals below 100. */
export const factor = (value) => (missing(value) ? dash : value < 100 ? value.toFixed(2) : number(value, 3));

/** In s below 10 min, min below 2 h, h below 96 h, else days: as the terminal's table. */
export function duration(seconds) {
  if (missing(seconds)) return dash;
  const size = Math.abs(seconds);
  if (size > 0 && size < 0.1) return size < 1e-4 ? `${number(1e6 * seconds, 3)} µs` : `${number(1e3 * seconds, 3)} ms`;
  if (size < 600) return `${number(seconds, 3)} s`;
  if (size < 7200) return `${number(seconds / 60, 3)} min`;
  if (size < 96 * 3600) return `${number(seconds / 3600, 3)} h`;
  return `${number(seconds / 86400, 3)} d`;
}

/** A unit for an axis of seconds that ends at `largest`: its name and length. */
export function timeUnit(largest) {
  if (largest < 1e-3) return { name: "µs", seconds: 1e-6 };
  if (largest < 1) return { name: "ms", seconds: 1e-3 };
  if (largest < 600) return { name: "s", seconds: 1 };
  if (largest < 7200) return { name: "min", seconds: 60 };
  if (largest < 96 * 3600) return { name: "h", seconds: 3600 };
  return { name: "days", seconds: 86400 };
}

/** A short label of an axis of times: 1 min, 10 h. */
export function timeTick(seconds) {
  const [unit, length] = seconds < 1e-3 ? ["µs", 1e-6] : seconds < 1 ? ["ms", 1e-3] : seconds < 60 ? ["s", 1] : seconds < 3600 ? ["min", 60] : seconds < 86400 ? ["h", 3600] : ["d", 86400];
  return `${number(seconds / length, 3)} ${unit}`;
}

/** A short label of an axis: 1,200 as 1.2k. */
export function tick(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)}G`;
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  return String(+value.toPrecision(3));
}

const units = [
  ["_usd_per_hour", "$/h"], ["_usd", "$"], ["_fraction", ""], ["_percent", "%"], ["_bytes", "bytes"], ["_kwh", "kWh"], ["_kg", "kg"],
  ["_per_s", "1/s"], ["_s", "s"], ["_j", "J"], ["_w", "W"],
];

const statistic = /_(mean|median|min|max|p90|ci95_low|ci95_high)$/;

/** "over_bound" -> "over bound", "step_s" -> "step, s", "gain_percent_mean" -> "gain mean, %": a column's name with its unit apart. */
export function columnLabel(name) {
  const plain = name.replace(statistic, "");
  for (const [ending, unit] of units)
    if (plain.endsWith(ending) && plain.length > ending.length) {
      const words = (plain.slice(0, -ending.length) + name.slice(plain.length)).replaceAll("_", " ");
      return unit ? `${words}, ${unit}` : words;
    }
  return name.replaceAll("_", " ");
}

/** "-12.3 %": how far what happened is from what was predicted. */
export function deviation(predicted, actual) {
  if (!(predicted > 0) || actual === null || actual === undefined) return "–";
  const percent = 100 * (actual / predicted - 1);
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent).toFixed(1)} %`;
}

const size = (bytes) => {
  const step = ["B", "kB", "MB", "GB", "TB"].findIndex((_, i) => bytes < 1000 ** (i + 1) || i === 4);
  return `${number(bytes / 1000 ** step, 3)} ${["B", "kB", "MB", "GB", "TB"][step]}`;
};

const shownAs = [
  ["_usd_per_hour", (v) => `${money(v)}/h`], ["_usd", money], ["_fraction", share], ["_percent", percent], ["_bytes", size],
  ["_per_s", (v) => `${number(v)}/s`], ["_s", duration],
];

/** How values of a column are read, by the ending of its name, and its name without the unit that is then with each value. */
export function columnShown(name) {
  const plain = name.replace(statistic, "");
  if (/(^|_)(accuracy|hypervolume)$/.test(plain)) return { label: columnLabel(name), show: (v) => (typeof v === "number" ? share(v) : v ?? dash) };
  for (const [ending, show] of shownAs)
    if (plain.endsWith(ending) && plain.length > ending.length)
      return { label: (plain.slice(0, -ending.length) + name.slice(plain.length)).replaceAll("_", " "), show: (v) => (typeof v === "number" ? show(v) : v ?? dash) };
  return { label: columnLabel(name), show: (v) => (typeof v === "number" ? number(v) : v ?? dash) };
}
