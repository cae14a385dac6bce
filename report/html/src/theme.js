// Light and dark: the browser's wish until the reader chooses. Colours are those of style.css, so that there is one list of them.
import { slots } from "./palette.js";

const pictures = new Set();
const root = document.documentElement;
const wish = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
let printing = false;

function apply() {
  root.dataset.theme = printing ? "light" : chosen ?? (wish.matches ? "dark" : "light"); // paper is white
  for (const draw of pictures) draw();
}

export function toggleTheme() {
  chosen = root.dataset.theme === "dark" ? "light" : "dark";
  apply();
}

export const isPrinting = () => printing;

/** `draw` is called again whenever the colours change. */
export function onTheme(draw) {
  pictures.add(draw);
}

apply();
wish.addEventListener("change", apply);
addEventListener("beforeprint", () => {
  printing = true;
  apply();
});
addEventListener("afterprint", () => {
  printing = false;
  apply();
});

const read = (name) => getComputedStyle(root).getPropertyValue(name).trim();

/** The colours of now, of style.css: `series` for what is compared, `parts` for parts of a whole, `outcomes` for what became of jobs. */
export function theme() {
  const list = (name, count) => Array.from({ length: count }, (_, i) => read(`--${name}-${i}`));
  return {
    text: read("--text"),
    muted: read("--muted"),
    line: read("--line"),
    surface: read("--surface"),
    good: read("--good"),
    bad: read("--bad"),
    accent: read("--accent"),
    yardstick: read("--yardstick"),
    waiting: read("--waiting"),
    series: list("series", slots),
    parts: list("part", 7),
    outcomes: Object.fromEntries(outcomes.map((name) => [name, read(`--outcome-${name}`)])),
  };
}

export const outcomes = ["kept", "late", "inaccurate", "both", "dear", "failed"];

const dashes = ["solid", [8, 3], [2, 3], [8, 3, 2, 3], [5, 2], [2, 6], [12, 3], [8, 3, 2, 3, 2, 3]];
const symbols = ["circle", "rect", "triangle", "diamond", "path://M0 0h10l-5 9z", "pin", "arrow"];

/** How the i-th of many is drawn: colour, dashes and symbol, so that it can be told apart in grey as well. */
export function styleOf(colours, i) {
  return { colour: colours.series[i % slots], dash: dashes[(i + Math.floor(i / slots)) % dashes.length], symbol: symbols[i % symbols.length] };
}

/** How a policy is drawn, by its place of slotsOf(): yardsticks are grey, and their symbols hollow. */
export function policyStyle(colours, places, name) {
  const { slot = 0, grey } = places.get(name) ?? {};
  if (grey === undefined) return { ...styleOf(colours, slot), hollow: false };
  return { colour: colours.yardstick, dash: dashes[(grey + 2) % dashes.length], symbol: symbols[grey % symbols.length], hollow: true };
}

/** Of a symbol: filled, or for yardsticks its border alone. */
export function pointStyle(colours, { colour, hollow }) {
  return hollow ? { color: colours.surface, borderColor: colour, borderWidth: 2 } : { color: colour };
}
