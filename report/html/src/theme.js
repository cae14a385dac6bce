// Light and dark: the browser's wish until the reader chooses. Colours are those of style.css, so that there is one list of them.

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

/** The colours of now; `series` are those of Okabe and Ito (2008), told apart with any colour vision. */
export function theme() {
  return {
    text: read("--text"),
    muted: read("--muted"),
    line: read("--line"),
    surface: read("--surface"),
    good: read("--good"),
    bad: read("--bad"),
    accent: read("--accent"),
    series: Array.from({ length: 8 }, (_, i) => read(`--series-${i}`)),
  };
}

const dashes = ["solid", "dashed", "dotted"];
const symbols = ["circle", "rect", "triangle", "diamond", "roundRect", "pin"];

/** How the i-th of many is drawn: after eight colours the lines are dashed and the symbols change. */
export function styleOf(colours, i) {
  const turn = Math.floor(i / colours.series.length);
  return {
    colour: colours.series[i % colours.series.length],
    dash: dashes[turn % dashes.length],
    symbol: symbols[i % symbols.length],
  };
}
