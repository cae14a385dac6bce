// Which policy has which colour, everywhere: in the report of a run or study, and in gnuplot's figures (report/plots/gnuplot.cpp has
// the same two lists). The colours themselves are in style.css: Paul Tol, "Colour schemes", SRON/EPS/TN/09-002 (2021): "muted"
// without its sand for what is compared, "YlOrBr" for what became of jobs, "light" for parts of a whole. So nothing that is compared
// has the colour of an outcome, all can be told apart with any colour vision, and dashes and symbols differ too.

/** Colours for what is compared. */
export const slots = 8;

/** Policies that are often compared have the same colour whoever stands beside them. */
export const usualSlots = {
  manual: 0, fifo: 0, "resource-only": 1, easy: 1, "batch-only": 2, las: 2, "static-isotonic": 3, sjf: 3,
  "staged-mpc": 4, srtf: 4, "staged-rl": 5, edf: 5, "static-isotonic-shared": 6, gavel: 6,
};

/** They know what no policy can; results of runs say it themselves, and their policies are marked. */
export const usualYardsticks = ["oracle", "staged-oracle", "lower bound"];
export const yardstickMark = " (yardstick)";
export const isYardstick = (name, usual = usualYardsticks) => name.endsWith(yardstickMark) || usual.includes(name);

/**
 * Name -> { slot } or { grey: n-th yardstick }: the usual colour where it is free, else the first free one, in order; when all are
 * taken they begin again.
 */
export function slotsOf(names, usual = usualYardsticks) {
  const places = new Map();
  const taken = [];
  const free = () => Array.from({ length: taken.length + 1 }, (_, i) => i).find((i) => !taken.includes(i));
  const take = (name, slot) => {
    places.set(name, { slot });
    taken.push(slot);
  };
  let greys = 0;
  for (const name of names)
    if (isYardstick(name, usual)) places.set(name, { grey: greys++ });
    else if (name in usualSlots && !taken.includes(usualSlots[name])) take(name, usualSlots[name]);
  for (const name of names) if (!places.has(name)) take(name, free());
  return places;
}
