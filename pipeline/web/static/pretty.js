// JSON that comes in pieces → the same, one member a line. Each character is looked at once; what is no JSON passes as it is.

export class Pretty {
  constructor() {
    this.depth = 0;
    this.inString = this.escaped = this.opened = false;
    this.isJson = undefined;
  }

  /** What the next piece adds. */
  feed(piece) {
    let out = "";
    for (let at = 0; at < piece.length; at++) {
      const character = piece[at];
      if (this.isJson === undefined && !/\s/.test(character)) this.isJson = character === "{" || character === "[";
      if (this.isJson === false) return out + piece.slice(at);
      out += this.inString ? this.#within(character) : this.#between(character);
    }
    return out;
  }

  #within(character) {
    if (this.escaped) this.escaped = false;
    else if (character === "\\") this.escaped = true;
    else if (character === '"') this.inString = false;
    return character;
  }

  #between(character) {
    if (/\s/.test(character)) return "";
    const closes = character === "}" || character === "]";
    if (closes) {
      this.depth = Math.max(0, this.depth - 1);
      const empty = this.opened;
      this.opened = false;
      return (empty ? "" : this.#line()) + character;
    }
    const lead = this.opened ? this.#line() : "";
    this.opened = false;
    if (character === "{" || character === "[") {
      this.depth += 1;
      this.opened = true;
    } else if (character === ",") {
      return lead + "," + this.#line();
    } else if (character === ":") {
      return lead + ": ";
    } else if (character === '"') {
      this.inString = true;
    }
    return lead + character;
  }

  #line() {
    return "\n" + "  ".repeat(Math.min(this.depth, 40));
  }
}
