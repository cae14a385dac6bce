// Bars on rows over time, drawn by hand: fifty thousand of them stay smooth, as only what can be seen is drawn. Wheel or + and -
// zoom, dragging or the arrow keys move; 0 shows all.
import { ticks, zoomed } from "./bars_layout.js";
import { groupRows } from "./data.js";
import { timeUnit } from "./format.js";
import { element } from "./page.js";
import { isPrinting, onTheme, theme } from "./theme.js";

const left = 120;
const bottom = 34;
const top = 6;
const leastRow = 3;

/** Colours of what ends a bar. */
export const markColour = (colours, kind) => ({ failed: colours.outcomes.failed, lost: colours.outcomes.inaccurate, preempted: colours.text })[kind];

/** Most pixels a row: so much that its lanes can be told apart. */
const rowMost = (rows) => Math.min(60, Math.max(20, 8 * Math.max(1, ...rows.map(({ lanes }) => lanes))));

/** Height of the picture with all of its rows, if that is not too much. */
export const heightFor = (rows) => Math.min(560, Math.max(120, rows.length * rowMost(rows) + top + bottom));

/**
 * `rows`: labels. `bars`: { row, from, to, lane, lanes, colour } arrays of equal length; a bar takes `lanes` of `per` lanes of its row
 * from `lane` on; `colour`: the number of a part, or a colour. `marks`: [{ bar, at, kind }], what ended a bar and when. `describe(i)`:
 * lines of text. Returns { show(bars, rows) } and its canvas in `box`.
 */
export function barsCanvas(box, { label, describe, onDrawn }) {
  const canvas = element("canvas", { tabindex: "0", role: "application", "aria-label": `${label}. Arrow keys move, plus and minus zoom, 0 shows all.` });
  const tip = element("div", { class: "tip", hidden: true });
  box.append(canvas, tip);
  let data = null;
  let view = { from: 0, to: 1, top: 0 };
  let pending = false;

  const plot = () => ({ width: canvas.clientWidth - left - 8, height: canvas.clientHeight - top - bottom });
  const rowHeight = () => Math.max(leastRow, Math.min(rowMost(data.rows), plot().height / Math.max(1, data.rows.length)));
  const end = () => data.end;
  const xOf = (time) => left + ((time - view.from) / (view.to - view.from)) * plot().width;
  const timeAt = (x) => view.from + ((x - left) / plot().width) * (view.to - view.from);
  const thickness = (i, height) => Math.max(0.6, data.thick[i] * height - (height > 8 ? 1 : 0));

  function draw() {
    pending = false;
    const { width, height } = plot();
    if (!data || width <= 0) return;
    const colours = theme();
    const scale = isPrinting() ? 3 : devicePixelRatio;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = canvas.clientHeight * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    drawAxis(pen, colours);
    drawRows(pen, colours);
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    const marks = drawBars(pen, colours);
    pen.restore();
    onDrawn(marks);
  }

  function drawAxis(pen, colours) {
    const unit = timeUnit(view.to);
    const { width, height } = plot();
    pen.textAlign = "center";
    for (const at of ticks(view.from / unit.seconds, view.to / unit.seconds, width / 90)) {
      const x = xOf(at * unit.seconds);
      pen.strokeStyle = colours.line;
      pen.globalAlpha = 0.6;
      pen.beginPath();
      pen.moveTo(x, top);
      pen.lineTo(x, top + height);
      pen.stroke();
      pen.globalAlpha = 1;
      pen.fillStyle = colours.muted;
      pen.fillText(String(+at.toPrecision(8)), x, top + height + 14);
    }
    pen.fillStyle = colours.muted;
    pen.fillText(`time, ${unit.name}`, left + width / 2, top + height + 29);
  }

  function drawRows(pen, colours) {
    const height = rowHeight();
    const shown = plot().height;
    const every = Math.max(1, Math.ceil(13 / height));
    pen.textAlign = "right";
    data.rows.forEach(({ name }, row) => {
      const y = top + row * height - view.top;
      if (y + height < top || y > top + shown) return;
      pen.fillStyle = colours.muted;
      if (row % every === 0 && y + Math.min(height, 13) <= top + shown + 4 && y > -4) pen.fillText(name, left - 6, y + Math.min(height, 13) * 0.5 + 4, left - 10);
      if (height < 8) return;
      pen.strokeStyle = colours.line;
      pen.globalAlpha = 0.35;
      pen.beginPath();
      pen.moveTo(left, y + height);
      pen.lineTo(canvas.clientWidth - 8, y + height);
      pen.stroke();
      pen.globalAlpha = 1;
    });
  }

  function drawBars(pen, colours) {
    const height = rowHeight();
    const right = left + plot().width;
    const shown = top + plot().height;
    const perSecond = plot().width / (view.to - view.from);
    const { from, to } = data.bars;
    const labelled = [];
    let marks = 0;
    for (const [number, own] of data.byColour) { // changing the pen for each bar would take longer than drawing it
      pen.fillStyle = typeof number === "number" ? colours.parts[number % colours.parts.length] : number; // or a colour of its own
      for (const i of own) {
        if (to[i] < view.from || from[i] > view.to) continue;
        const y = top - view.top + data.place[i] * height;
        const thick = thickness(i, height);
        if (y + thick < top || y > shown) continue;
        const x = Math.max(left, left + (from[i] - view.from) * perSecond);
        const wide = Math.min(left + (to[i] - view.from) * perSecond, right) - x;
        pen.fillRect(x, y, wide > 3 ? wide - 0.7 : Math.max(0.7, wide), thick); // a gap where the next begins
        ++marks;
        if (thick >= 11 && wide >= 44) labelled.push([i, x, y, wide, thick]);
      }
    }
    for (const mark of data.bars.marks ?? []) marks += drawMark(pen, mark, colours, height);
    if (data.bars.text) for (const bar of labelled) drawLabel(pen, bar);
    return marks;
  }

  /** At the end of a bar, over its whole height: what ended it. */
  function drawMark(pen, { bar, at, kind }, colours, height) {
    if (at < view.from || at > view.to) return 0;
    const y = top - view.top + data.place[bar] * height;
    const tall = Math.max(5, thickness(bar, height));
    if (y + tall < top || y > top + plot().height) return 0;
    const x = xOf(at);
    pen.strokeStyle = pen.fillStyle = markColour(colours, kind);
    pen.lineWidth = 2;
    pen.beginPath();
    if (kind === "preempted") {
      pen.moveTo(x, y);
      pen.lineTo(x, y + tall);
      pen.stroke();
    } else { // a triangle that points at the end; the job's own end is a cross
      const half = Math.min(5, tall / 2 + 1);
      const middle = y + tall / 2;
      if (kind === "failed") {
        pen.moveTo(x - half, middle - half);
        pen.lineTo(x + half, middle + half);
        pen.moveTo(x - half, middle + half);
        pen.lineTo(x + half, middle - half);
        pen.stroke();
      } else {
        pen.moveTo(x, middle);
        pen.lineTo(x - 1.6 * half, middle - half);
        pen.lineTo(x - 1.6 * half, middle + half);
        pen.fill();
      }
    }
    pen.lineWidth = 1;
    return 1;
  }

  function drawLabel(pen, [i, x, y, wide, thick]) {
    pen.save();
    pen.beginPath();
    pen.rect(x, y, wide - 3, thick);
    pen.clip();
    pen.fillStyle = "#000000";
    pen.textAlign = "left";
    pen.fillText(data.bars.text(i), x + 4, y + thick / 2 + 4);
    pen.restore();
  }

  function request() {
    if (!pending) requestAnimationFrame(draw);
    pending = true;
  }

  function change(next) {
    const most = Math.max(0, data.rows.length * rowHeight() - plot().height);
    view = { ...view, ...next };
    view.top = Math.min(Math.max(0, view.top), most);
    request();
  }
  const zoom = (at, factor) => change(zoomed(view, at, factor, end()));
  const move = (time) => change(zoomed({ from: view.from + time, to: view.to + time }, view.from + time, 1, end()));

  function barAt(x, y) {
    const height = rowHeight();
    const row = Math.floor((y - top + view.top) / height);
    const reach = (2 * (view.to - view.from)) / plot().width;
    const time = timeAt(x);
    const { bars } = data;
    for (let i = bars.from.length - 1; i >= 0; --i) {
      if (bars.row[i] !== row || bars.from[i] > time + reach || bars.to[i] < time - reach) continue;
      const begin = top - view.top + data.place[i] * height;
      if (y >= begin - 1 && y <= begin + thickness(i, height) + 1) return i;
    }
    return -1;
  }

  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return; // the page scrolls until the figure is clicked
    event.preventDefault();
    if (event.shiftKey) change({ top: view.top + event.deltaY });
    else zoom(timeAt(event.offsetX), 1.0015 ** -event.deltaY);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) {
      move((-event.movementX / plot().width) * (view.to - view.from));
      change({ top: view.top - event.movementY });
    }
    const bar = data ? barAt(event.offsetX, event.offsetY) : -1;
    tip.hidden = bar < 0;
    if (bar < 0) return;
    tip.textContent = describe(bar);
    tip.style.left = `${Math.min(event.offsetX + 14, canvas.clientWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${Math.min(event.offsetY + 14, canvas.clientHeight - tip.offsetHeight - 4)}px`;
  });
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  canvas.addEventListener("keydown", (event) => {
    const length = view.to - view.from;
    const act = {
      ArrowLeft: () => move(-length / 8), ArrowRight: () => move(length / 8),
      ArrowUp: () => change({ top: view.top - 40 }), ArrowDown: () => change({ top: view.top + 40 }),
      "+": () => zoom(view.from + length / 2, 1.5), "=": () => zoom(view.from + length / 2, 1.5), "-": () => zoom(view.from + length / 2, 1 / 1.5),
      0: () => change({ from: 0, to: end(), top: 0 }),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  new ResizeObserver(request).observe(box);
  onTheme(draw); // at once: paper does not wait for the next frame

  return {
    canvas,
    zoomIn: () => zoom((view.from + view.to) / 2, 2),
    zoomOut: () => zoom((view.from + view.to) / 2, 0.5),
    all: () => change({ from: 0, to: end(), top: 0 }),
    show(rows, bars) {
      box.style.height = `${heightFor(rows)}px`;
      // In rows: where a bar begins, and how thick it is.
      const lanes = bars.row.map((row) => rows[row].lanes);
      const place = Float64Array.from(bars.row, (row, i) => row + bars.lane[i] / lanes[i]);
      const thick = Float64Array.from(bars.lanes, (held, i) => held / lanes[i]);
      data = { rows, bars, place, thick, byColour: [...groupRows(bars.colour)], end: bars.to.reduce((most, time) => Math.max(most, time), 1e-9) };
      view = { from: 0, to: data.end, top: 0 };
      draw();
    },
  };
}

/** The buttons of such a picture. */
export function zoomButtons(picture) {
  const button = (text, title, onclick) => element("button", { type: "button", title, "aria-label": title, onclick }, text);
  return [button("+", "Zoom in", () => picture().zoomIn()), button("−", "Zoom out", () => picture().zoomOut()), button("All", "Show all", () => picture().all())];
}
