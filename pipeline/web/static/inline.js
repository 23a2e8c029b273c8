// One paragraph of Markdown → nodes: code, emphasis, links. What is not understood stays as it was written.
// No image is ever loaded, and a link says where it leads.

import { element, text } from "./dom.js";

const DEEPEST = 6;
const NEXT = /\\[!-\/:-@[-`{-~]|`+|\*{1,3}|~~|_{1,3}|!?\[|https?:\/\/[^\s<>"'`]+/g;
const TAGS = { "*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del" };
const TARGET = /\(\s*(<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/y;

export function inline(source, depth = 0) {
  const nodes = [];
  let plain = "";
  let at = 0;
  const flush = () => { if (plain) nodes.push(text(plain)); plain = ""; };
  const take = (node, end) => { flush(); nodes.push(node); at = end; };
  const next = new RegExp(NEXT);
  while (at < source.length) {
    next.lastIndex = at;
    const found = depth < DEEPEST ? next.exec(source) : null;
    if (!found) break;
    const [mark] = found;
    plain += source.slice(at, found.index);
    at = found.index;
    const after = at + mark.length;
    const made = mark[0] === "\\" ? null
      : mark[0] === "`" ? code(source, mark, after)
      : mark.startsWith("http") ? bare(mark, after)
      : mark.endsWith("[") ? link(source, mark, after, depth)
      : emphasis(source, mark, at, depth);
    if (made) take(...made);
    else {
      plain += mark[0] === "\\" ? mark[1] : mark;
      at = after;
    }
  }
  plain += source.slice(at);
  flush();
  return nodes;
}

function code(source, ticks, from) {
  let end = source.indexOf(ticks, from);
  while (end >= 0 && source[end + ticks.length] === "`") {
    while (source[end] === "`") end += 1;
    end = source.indexOf(ticks, end);
  }
  if (end < 0) return null;
  const inside = source.slice(from, end);
  return [element("code", {}, /^ .*[^ ].* $/s.test(inside) ? inside.slice(1, -1) : inside), end + ticks.length];
}

function emphasis(source, mark, at, depth) {
  const from = at + mark.length;
  const word = /[\p{L}\p{N}]/u;
  if (/^\s|^$/.test(source.slice(from, from + 1))) return null;
  if (mark[0] === "_" && word.test(source[at - 1] ?? "")) return null;
  for (let end = source.indexOf(mark, from); end >= 0; end = source.indexOf(mark, end + 1)) {
    const after = source[end + mark.length] ?? "";
    const within = end > from && !/\s/.test(source[end - 1]) && source[end - 1] !== "\\";
    if (!within || after === mark[0] || source[end - 1] === mark[0] || (mark[0] === "_" && word.test(after))) continue;
    const inside = inline(source.slice(from, end), depth + 1);
    const made = mark.length === 3 ? element("strong", {}, element("em", {}, ...inside)) : element(TAGS[mark], {}, ...inside);
    return [made, end + mark.length];
  }
  return null;
}

function link(source, mark, from, depth) {
  let level = 1;
  let end = from;
  for (; end < source.length && level > 0; end++) {
    if (source[end] === "\\") end += 1;
    else if (source[end] === "[") level += 1;
    else if (source[end] === "]") level -= 1;
  }
  if (level > 0) return null;
  TARGET.lastIndex = end;
  const target = TARGET.exec(source);
  if (!target) return null;
  const label = source.slice(from, end - 1);
  const written = target[1].replace(/^<|>$/g, "");
  const whole = source.slice(from - mark.length, end + target[0].length);
  if (mark === "![") return [element("span", { class: "image" }, `🖼 ${label} (${written})`), end + target[0].length];
  const url = safe(written);
  if (!url) return [text(whole), end + target[0].length];
  const where = label.includes(url.host) && url.host ? [] : [element("span", { class: "host" }, ` (${url.host || url.href})`)];
  return [element("span", {}, anchor(url, inline(label, Math.max(depth + 1, DEEPEST))), ...where), end + target[0].length];
}

function bare(mark, after) {
  const shown = mark.replace(/[.,;:!?)\]}*_~]+$/, "");
  const url = safe(shown);
  return url && [anchor(url, [shown]), after - (mark.length - shown.length)];
}

function anchor(url, children) {
  return element("a", { href: url.href, title: url.href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}

/** The address, if it is one that a link may lead to: no javascript:, no data:, nothing relative to this page. */
function safe(written) {
  try {
    const url = new URL(written);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null;
  } catch {
    return null;
  }
}
