// When what came: a bar for each moment, as high as what came in it is long; gaps stand out, and so does the first token.

import { count, say, seconds } from "./dom.js";
import { family } from "./events.js";

const STALL = 1; // s, as the server counts it
const PIECES = new Set(["says", "thinks", "calls"]);
const HIGH = 64;
const AXIS = 16;

export class Timeline {
  constructor(canvas, caption, choose) {
    this.canvas = canvas;
    this.caption = caption;
    this.width = 0;
    new ResizeObserver(() => { this.width = 0; this.last && this.render(this.last); }).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.width = 0; this.last && this.render(this.last); });
    canvas.addEventListener("click", (event) => {
      const at = (event.offsetX / canvas.clientWidth) * this.span;
      const rows = this.last?.rows ?? [];
      const near = rows.reduce((best, row) => (Math.abs(row.t - at) < Math.abs((best?.t ?? Infinity) - at) ? row : best), null);
      if (near) choose(near.n);
    });
  }

  render(store) {
    this.last = store;
    const context = this.canvas.getContext("2d");
    if (!this.width) this.#fit(context);
    context.clearRect(0, 0, this.width, HIGH + AXIS);
    const line = store.current;
    if (!line) return;
    this.span = Math.max(store.elapsed(line), 0.5);
    const x = (t) => (t / this.span) * this.width;
    const silent = this.#gaps(context, x, store, line);
    this.#bars(context, x, store.rows);
    this.#axis(context, x);
    this.#tell(line, silent);
  }

  #fit(context) {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round((HIGH + AXIS) * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(this.canvas);
    this.colours = Object.fromEntries(["says", "thinks", "calls", "warns", "other", "stall", "muted", "line"].map((name) => [name, style.getPropertyValue(`--${name}`)]));
    this.font = `11px ${style.fontFamily}`;
  }

  #bars(context, x, rows) {
    const columns = new Map(); // pixel → sizes by family
    let most = 1;
    for (const row of rows) {
      const place = Math.min(Math.floor(x(row.t)), Math.floor(this.width) - 2);
      const column = columns.get(place) ?? columns.set(place, { total: 0 }).get(place);
      const kind = family(row.event);
      const size = Math.max(row.size ?? 0, 1);
      column[kind] = (column[kind] ?? 0) + size;
      column.total += size;
      most = Math.max(most, column.total);
    }
    for (const [place, column] of columns) {
      let top = HIGH;
      const scale = (4 + (HIGH - 8) * Math.sqrt(column.total / most)) / column.total;
      for (const kind of ["says", "thinks", "calls", "warns", "other"]) {
        if (!column[kind]) continue;
        const high = column[kind] * scale;
        context.fillStyle = this.colours[kind];
        context.fillRect(place, top - high, 2, high);
        top -= high;
      }
    }
  }

  /** Draw them; gives how long the one is that is not over yet, else 0. */
  #gaps(context, x, store, line) {
    const { first, ended } = line.facts;
    const gaps = [];
    let last = null;
    for (const row of store.rows) {
      if (row.event === "RoundStarted") last = null;
      if (!PIECES.has(family(row.event))) continue;
      if (last !== null && row.t - last >= STALL) gaps.push([last, row.t]);
      last = row.t;
    }
    const now = store.elapsed(line);
    const silent = last !== null && (ended ?? null) === null && now - last >= STALL ? now - last : 0;
    if (silent) gaps.push([last, now]);
    context.font = this.font;
    context.textAlign = "center";
    for (const [from, to] of gaps) {
      context.fillStyle = this.colours.stall;
      context.fillRect(x(from), 0, x(to) - x(from), HIGH);
      const label = seconds(to - from);
      if (context.measureText(label).width + 6 < x(to) - x(from)) {
        context.fillStyle = this.colours.warns;
        context.fillText(label, (x(from) + x(to)) / 2, 13);
      }
    }
    if (first !== undefined && first !== null) {
      context.fillStyle = this.colours.muted;
      for (let top = 0; top < HIGH; top += 6) context.fillRect(x(first), top, 1, 3);
      if (x(first) > 80) {
        context.textAlign = "right";
        context.fillText("first token", x(first) - 5, 13);
      }
    }
    return silent;
  }

  #axis(context, x) {
    context.fillStyle = this.colours.line;
    context.fillRect(0, HIGH, this.width, 1);
    const fits = Math.max(2, Math.floor(this.width / 90));
    const rough = this.span / fits;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
    context.font = this.font;
    context.fillStyle = this.colours.muted;
    for (let number = 0; number * step <= this.span; number++) {
      const t = number * step;
      context.textAlign = number === 0 ? "left" : x(t) > this.width - 20 ? "right" : "center";
      context.fillText(`${Number(t.toPrecision(6))} s`, x(t), HIGH + 13);
    }
  }

  #tell(line, silent) {
    const { first, stalls, longest, events, round, retries } = line.facts;
    const parts = [`${count(events ?? 0)} events`];
    if (round > 1) parts.push(`round ${round}`);
    if (retries) parts.push(`${retries} ${retries === 1 ? "retry" : "retries"}`);
    parts.push(first === undefined || first === null ? "no token yet" : `first token after ${seconds(first)}`);
    if (stalls) parts.push(`${stalls} ${stalls === 1 ? "gap" : "gaps"} of a second or more, the longest ${seconds(longest)}`);
    if (silent) parts.push(`nothing for ${seconds(silent)}`);
    if (!stalls && !silent) parts.push("no gap of a second or more");
    say(this.caption, parts.join(" · "));
  }
}
