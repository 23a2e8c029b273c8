// A text that only grows, as it is. It is cut into pieces, each a block of its own, so that growing costs the layout of
// the last piece only, and what is out of sight costs none.

import { visible } from "./visible.js";

const PIECE = 8_000; // characters; then it ends with its line, or at twice that

export class Plain {
  constructor(root) {
    this.root = root;
    this.shown = 0;
    this.root.classList.add("plain");
  }

  /** Show the text, which begins with what was shown before. */
  update(text) {
    const end = text.endsWith("\r") ? text.length - 1 : text.length; // a line feed may follow
    while (this.shown < end) {
      if (!this.node || this.#isFull(text)) this.#begin();
      let stop = Math.min(end, this.shown + 2 * PIECE - this.node.length);
      const line = text.indexOf("\n", this.shown + Math.max(0, PIECE - this.node.length));
      if (line >= 0 && line < stop) stop = line + 1;
      if (stop < end && isHigh(text, stop - 1)) stop += 1;
      this.node.appendData(visible(text.slice(this.shown, stop)));
      this.shown = stop;
    }
  }

  #isFull(text) {
    const length = this.node.length;
    return length >= 2 * PIECE || (length >= PIECE && text[this.shown - 1] === "\n");
  }

  #begin() {
    if (this.node) this.#finish(this.node);
    this.node = document.createTextNode("");
    const piece = document.createElement("div");
    piece.append(this.node);
    this.root.append(piece);
  }

  /** A piece that is complete need not be laid out while it is out of sight; until it once was, its height is a guess. */
  #finish({ data, parentElement }) {
    const lines = data.split("\n").reduce((all, line) => all + Math.ceil((line.length + 1) / 75), 0);
    parentElement.style.containIntrinsicBlockSize = `auto ${lines * 22}px`;
    parentElement.classList.add("complete");
  }
}

function isHigh(text, at) {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}
