// What this page knows: the list of streams, and the blocks and events of one of them.
// An update says where each piece belongs, so that hearing it twice changes nothing.

export class Store {
  constructor() {
    this.streams = new Map(); // number → line of the list, in order
    this.clear(null);
  }

  clear(stream) {
    this.stream = stream;
    this.blocks = []; // by id
    this.changed = new Set(); // ids of blocks that a view has not seen yet
    this.rows = []; // the last events, the oldest first
    this.lastRow = 0;
  }

  /** Merge an update; true if it speaks of another stream than before. */
  merge(update) {
    for (const line of update.streams ?? []) {
      this.streams.set(line.id, { ...line, facts: { state: "waiting", ...line.facts }, heard: performance.now() });
    }
    if (update.order) {
      this.streams = new Map(update.order.filter((id) => this.streams.has(id)).map((id) => [id, this.streams.get(id)]));
    }
    const stream = update.stream ?? null;
    const another = stream !== this.stream;
    if (another) this.clear(stream);
    for (const part of update.blocks ?? []) this.#grow(part);
    for (const row of update.rows ?? []) {
      if (row.n > this.lastRow) {
        this.rows.push(row);
        this.lastRow = row.n;
      }
    }
    const first = update.first ?? 1;
    let stale = 0;
    while (stale < this.rows.length && this.rows[stale].n < first) stale += 1;
    if (stale) this.rows.splice(0, stale);
    return another;
  }

  #grow(part) {
    const block = this.blocks[part.id] ??= { id: part.id, kind: part.kind, choice: part.choice, facts: {}, text: "" };
    if (part.facts) block.facts = part.facts;
    block.came = part.came;
    const known = block.text.length - part.at;
    if (part.text && part.text.length > known) block.text += part.text.slice(known);
    this.changed.add(part.id);
  }

  get current() {
    return this.streams.get(this.stream);
  }

  /** Seconds since a stream began; it goes on between updates. */
  elapsed(line) {
    return line.facts.ended ?? line.now + (performance.now() - line.heard) / 1000;
  }

  /** What an event said to a block: at most `most` characters of it. */
  said(row, most = Infinity) {
    if (row.block === undefined || row.block === null) return "";
    const text = this.blocks[row.block]?.text ?? "";
    return text.slice(row.at ?? 0, (row.at ?? 0) + Math.min(row.size ?? 0, most));
  }
}
