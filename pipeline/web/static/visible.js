// Text of a model as a page may show it: nothing in it turns other text around, all of it is seen.
// The same rule as pipeline/sinks/_visible.py has for terminals.

const UNSAFE = /\r(?!\n)|[^\t\n\r -~\u00a0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\u{10ffff}]/gu;

function symbol(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "␡";
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

export function visible(text) {
  return text.replace(UNSAFE, symbol);
}
