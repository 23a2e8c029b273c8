// The raw events: only the lines in sight are in the page, however many there are.

import { $, count, element, say } from "./dom.js";

const HEIGHT = 24; // of a line, in pixels, as style.css has it
const MARGIN = 8; // lines above and below what is in sight
const PREVIEW = 160;

export class Events {
  constructor(store) {
    this.store = store;
    this.list = $("events");
    this.lines = $("rows");
    this.hidden = new Set(); // types that are not wanted
    this.search = "";
    this.chips = new Map();
    this.list.addEventListener("scroll", () => this.#paint());
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.lines.addEventListener("click", (event) => {
      const n = Number(event.target.closest("[data-n]")?.dataset.n);
      if (n) this.choose(n);
    });
    $("search").addEventListener("input", (event) => this.#seek(event.target.value));
    $("detail-close").addEventListener("click", () => this.closeDetail());
    new ResizeObserver(() => this.#paint()).observe(this.list);
    this.clear();
  }

  clear() {
    this.found = []; // the rows that pass the filters, of those up to `seen`
    this.seen = 0;
    this.first = 1; // the number of the oldest that is kept
    this.counts = new Map();
    this.chosen = null;
    this.chips.clear();
    $("filters").replaceChildren();
    this.closeDetail();
    this.#paint();
  }

  /** Take in the rows that are new in the store. */
  render() {
    const rows = this.store.rows;
    const first = rows[0]?.n ?? 1;
    let stale = 0;
    while (stale < this.found.length && this.found[stale].n < first) stale += 1;
    if (stale) this.found.splice(0, stale);
    if (this.seen === this.store.lastRow && first === this.first) return;
    const atEnd = this.#isAtEnd();
    if (first !== this.first) this.#recount(rows);
    this.first = first;
    for (let at = Math.max(0, rows.length - (this.store.lastRow - this.seen)); at < rows.length; at++) {
      this.#count(rows[at].event);
      if (this.#passes(rows[at])) this.found.push(rows[at]);
    }
    this.seen = this.store.lastRow;
    for (const [type, chip] of this.chips) say(chip.lastChild, count(this.counts.get(type)));
    this.#laidOut();
    if (atEnd) this.list.scrollTop = this.list.scrollHeight;
    else if (stale) this.list.scrollTop -= stale * HEIGHT;
    this.#paint();
  }

  /** Show the event with this number whole, and have it in sight. */
  choose(n) {
    const at = this.found.findIndex((row) => row.n === n);
    if (at < 0) return;
    this.chosen = n;
    const whole = this.#whole(this.found[at]);
    $("detail").hidden = false;
    say($("detail").querySelector("pre"), whole);
    const top = at * HEIGHT;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + HEIGHT > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + HEIGHT - this.list.clientHeight;
    this.#paint();
  }

  closeDetail() {
    $("detail").hidden = true;
    this.chosen = null;
    this.#paint();
  }

  get detailIsOpen() {
    return !$("detail").hidden;
  }

  #key(event) {
    const at = this.found.findIndex((row) => row.n === this.chosen);
    const page = Math.max(1, Math.floor(this.list.clientHeight / HEIGHT) - 1);
    const last = this.found.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? last : at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.choose(this.found[Math.min(last, Math.max(0, to))].n);
  }

  #seek(wanted) {
    this.search = wanted.toLowerCase();
    this.#filter();
  }

  #filter() {
    this.found = this.store.rows.filter((row) => row.n <= this.seen && this.#passes(row));
    this.#laidOut();
    this.list.scrollTop = this.list.scrollHeight;
    this.#paint();
  }

  #passes(row) {
    if (this.hidden.has(row.event)) return false;
    return !this.search || `${row.event} ${this.#content(row)}`.toLowerCase().includes(this.search);
  }

  #content(row, most) {
    const rest = (row.json ?? "").replace(/^\{"event":"\w+",?/, "{"); // the line begins with that
    return [this.store.said(row, most), rest].filter(Boolean).join("  ");
  }

  /** Count those that were seen and are still kept. */
  #recount(rows) {
    for (const type of this.counts.keys()) this.counts.set(type, 0);
    for (const row of rows) if (row.n <= this.seen) this.counts.set(row.event, this.counts.get(row.event) + 1);
  }

  #count(type) {
    this.counts.set(type, (this.counts.get(type) ?? 0) + 1);
    if (this.chips.has(type)) return;
    const chip = element("button", { type: "button", "aria-pressed": !this.hidden.has(type) ? "true" : "false", class: `chip ${family(type)}` }, `${type} `, element("span"));
    chip.addEventListener("click", () => {
      const wasHidden = this.hidden.delete(type);
      if (!wasHidden) this.hidden.add(type);
      chip.setAttribute("aria-pressed", String(wasHidden));
      this.#filter();
    });
    this.chips.set(type, chip);
    $("filters").append(chip);
  }

  #laidOut() {
    this.lines.style.height = `${this.found.length * HEIGHT}px`;
    const all = this.store.rows.length;
    const earlier = (this.store.rows[0]?.n ?? 1) - 1;
    say($("found"), this.found.length === all ? count(all) : `${count(this.found.length)} of ${count(all)}`);
    $("found").title = earlier ? `${count(earlier)} earlier ones are not kept` : "";
  }

  #isAtEnd() {
    return this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < HEIGHT * 2;
  }

  #paint() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / HEIGHT) - MARGIN);
    const last = Math.min(this.found.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / HEIGHT) + MARGIN);
    const lines = [];
    for (let at = first; at < last; at++) lines.push(this.#line(this.found[at], at));
    this.lines.replaceChildren(...lines);
    if (this.chosen === null) this.list.removeAttribute("aria-activedescendant");
    else this.list.setAttribute("aria-activedescendant", `row-${this.chosen}`);
  }

  #line(row, at) {
    const line = element("div", {
      class: `row ${family(row.event)}`, role: "option", id: `row-${row.n}`, "data-n": row.n,
      "aria-selected": row.n === this.chosen ? "true" : "false", "aria-posinset": at + 1, "aria-setsize": this.found.length,
    },
      element("span", { class: "t" }, row.t.toFixed(3)),
      element("span", { class: "event" }, row.event + (row.choice ? ` ${row.choice}` : "")),
      element("span", { class: "said" }, this.#content(row, PREVIEW).slice(0, PREVIEW).replaceAll("\n", "⏎")));
    line.style.top = `${at * HEIGHT}px`;
    return line;
  }

  #whole(row) {
    const lines = [`${row.event}, number ${count(row.n)}, at ${row.t.toFixed(4)} s` + (row.choice ? `, choice ${row.choice}` : "")];
    if (row.size) lines.push(`says (${count(row.size)} characters):`, shortened(JSON.stringify(this.store.said(row, 20_000))));
    if (row.json) lines.push(pretty(row.json));
    return lines.join("\n");
  }
}

/** What sort of event it is: gives the colour here and in the timeline. */
export function family(type) {
  if (type === "TextDelta" || type === "RefusalDelta" || type === "AudioDelta") return "says";
  if (type === "ReasoningDelta") return "thinks";
  if (type.startsWith("Tool") || type.startsWith("Argument")) return "calls";
  if (type === "Retrying" || type === "Restarted" || type === "Gap") return "warns";
  return "other";
}

function shortened(whole) {
  return whole.length > 20_000 ? `${whole.slice(0, 20_000)} …` : whole;
}

function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json; // it was cut
  }
}
