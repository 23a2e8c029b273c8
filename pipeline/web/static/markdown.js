// Markdown that grows → elements. A part (a paragraph, a list, a fenced block …) that is complete is made once and never
// touched again; only the open one at the end is made anew as it grows. A part that is very long stays plain text.

import { element } from "./dom.js";
import { inline } from "./inline.js";
import { Plain } from "./plain.js";

const LONGEST = 8_000; // characters of a part that are still parsed
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\n]*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const DELIMITERS = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const DEEPEST = 8;

export class Markdown {
  constructor(root) {
    this.root = root;
    this.start = this.scanned = 0; // where the open part begins; and the line that was not looked at yet
    this.fence = null;
  }

  /** Show the text, which begins with what was shown before. */
  update(text) {
    for (let end = this.#end(text); end >= 0; end = this.#end(text)) {
      this.#show(text.slice(this.start, end));
      this.start = end;
      this.open = this.plain = null;
    }
    if (this.start < text.length) this.#show(text.slice(this.start));
  }

  /** Where the open part ends, once that is known; -1 before. */
  #end(text) {
    for (;;) {
      const stop = text.indexOf("\n", this.scanned);
      if (stop < 0) return -1;
      const line = text.slice(this.scanned, Math.min(stop, this.scanned + 400)).trimEnd();
      const begin = this.scanned;
      const fence = FENCE.exec(line);
      if (this.fence) {
        this.scanned = stop + 1;
        if (fence && !fence[2] && fence[1].startsWith(this.fence)) {
          this.fence = null;
          return this.scanned;
        }
      } else if (fence) {
        if (begin > this.start) return begin;
        this.fence = fence[1];
        this.scanned = stop + 1;
      } else {
        this.scanned = stop + 1;
        if (!line) return this.scanned;
      }
    }
  }

  #show(part) {
    if (!this.open) {
      if (!part.trim()) return;
      this.open = element("div", { class: "part" });
      this.root.append(this.open);
    }
    if (this.plain || part.length > LONGEST) {
      if (!this.plain) {
        this.open.replaceChildren();
        this.plain = new Plain(this.open);
      }
      this.plain.update(part);
    } else {
      this.open.replaceChildren(...blocks(part.replace(/\r\n/g, "\n").split("\n"), 0));
    }
  }
}

function blocks(lines, depth) {
  const made = [];
  for (let at = 0; at < lines.length; ) {
    const [node, next] = block(lines, at, depth);
    if (node) made.push(node);
    at = next;
  }
  return made;
}

function block(lines, at, depth) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence);
  const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
  if (heading) return [element(`h${Math.min(6, heading[1].length + 3)}`, {}, ...inline(heading[2])), at + 1];
  if (/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line)) return [element("hr"), at + 1];
  if (depth < DEEPEST && /^ {0,3}>/.test(line)) return quote(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return list(lines, at, depth);
  if (line.includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && DELIMITERS.test(lines[at + 1])) return table(lines, at);
  return paragraph(lines, at, depth);
}

function fenced(lines, at, [, fence, language]) {
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(fence) && !lines[end].trim().replaceAll(fence[0], ""))) end += 1;
  const code = element("code", {}, lines.slice(at + 1, end).join("\n"));
  const label = language ? [element("span", { class: "language" }, language.slice(0, 40))] : [];
  return [element("pre", { class: "code", tabindex: 0 }, ...label, code), end + 1];
}

function quote(lines, at, depth) {
  let end = at;
  while (end < lines.length && /^ {0,3}>/.test(lines[end])) end += 1;
  const inside = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
  return [element("blockquote", { dir: "auto" }, ...blocks(inside, depth + 1)), end];
}

function list(lines, at, depth) {
  const [, lead, mark] = ITEM.exec(lines[at]);
  const ordered = /\d/.test(mark);
  const made = element(ordered ? "ol" : "ul", { start: ordered && mark !== "1." ? parseInt(mark, 10) : undefined, dir: "auto" });
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (!item || item[1].length !== lead.length || /\d/.test(item[2]) !== ordered) break;
    const inside = [item[3]];
    end += 1;
    while (end < lines.length && lines[end].trim()) {
      const next = ITEM.exec(lines[end]);
      if (next && next[1].length <= lead.length) break;
      inside.push(next ? lines[end].slice(Math.min(next[1].length, lead.length + 2)) : lines[end].trimStart());
      end += 1;
    }
    const nodes = blocks(inside, depth + 1);
    const [first, ...rest] = nodes;
    made.append(element("li", {}, ...(first?.tagName === "P" ? [...first.childNodes, ...rest] : nodes)));
  }
  return [made, end];
}

function table(lines, at) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replaceAll("\\|", "|")));
  const head = cells(lines[at]);
  let end = at + 2;
  const body = [];
  while (end < lines.length && lines[end].includes("|")) body.push(cells(lines[end++]));
  const row = (tag, content) => element("tr", {}, ...head.map((_, place) => element(tag, { dir: "auto" }, ...(content[place] ?? []))));
  const made = element("table", {}, element("thead", {}, row("th", head)), element("tbody", {}, ...body.map((content) => row("td", content))));
  return [element("div", { class: "wide", tabindex: 0 }, made), end];
}

function paragraph(lines, at, depth) {
  let end = at + 1;
  const begins = (line) => !line.trim() || FENCE.test(line) || /^ {0,3}(#{1,6}\s|>)/.test(line) || (depth < DEEPEST && ITEM.test(line));
  while (end < lines.length && !begins(lines[end])) end += 1;
  const nodes = lines.slice(at, end).flatMap((line, place) => [...(place ? [element("br")] : []), ...inline(line.replace(/\s+$/, ""))]);
  return [element("p", { dir: "auto" }, ...nodes), end];
}
