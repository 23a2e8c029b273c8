// Elements made from strings that are never parsed: every text goes through `visible` into a text node.

import { visible } from "./visible.js";

export const $ = (id) => document.getElementById(id);

export function text(content) {
  return document.createTextNode(visible(String(content)));
}

/** An element with attributes (false and undefined: left out) and children (nodes, or strings as text). */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : visible(String(value)));
  }
  made.append(...children.map((child) => (child instanceof Node ? child : text(child))));
  return made;
}

/** Set the text of an element, if it is another one than it has. */
export function say(where, content) {
  const shown = visible(content);
  if (where.textContent !== shown) where.textContent = shown;
}

/** A box that stays at its end while it grows, as long as that is where it was scrolled to. */
export class Sticky {
  constructor(box) {
    this.box = box;
    this.stuck = true;
    box.addEventListener("scroll", () => { this.stuck = box.scrollHeight - box.scrollTop - box.clientHeight < 40; });
  }

  grown() {
    if (this.stuck) this.box.scrollTop = this.box.scrollHeight;
  }
}

export function count(number) {
  return number.toLocaleString("en");
}

export function seconds(value) {
  if (value < 60) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  return `${Math.floor(value / 60)} min ${String(Math.floor(value % 60)).padStart(2, "0")} s`;
}
