// The updates of the server. The browser connects again by itself; the server then tells all from the beginning, which
// the store merges with what it has.

const SILENCE = 30_000; // ms; the server says something every 10 s
const AGAIN = 2_000; // ms, where the server answered with an error

export class Connection {
  /** `onUpdate` gets each update, `onState` "connecting", "open", "lost" or "closed". */
  constructor(onUpdate, onState) {
    this.onUpdate = onUpdate;
    this.onState = onState;
  }

  /** Ask for one stream by its number, or for the newest (null). */
  open(stream) {
    this.source?.close();
    this.stream = stream;
    const source = new EventSource(stream === null ? "updates" : `updates?stream=${stream}`);
    this.source = source;
    source.onopen = () => { this.#heard(); this.onState("open"); };
    source.onmessage = (message) => { this.#heard(); this.onUpdate(JSON.parse(message.data)); };
    source.addEventListener("alive", () => this.#heard());
    source.addEventListener("closed", () => {
      source.close();
      clearTimeout(this.timer);
      this.onState("closed");
    });
    source.onerror = () => {
      this.onState("lost");
      if (source.readyState === EventSource.CLOSED) this.#again(AGAIN);
    };
  }

  #heard() {
    this.#again(SILENCE);
  }

  #again(after) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.onState("lost"); this.open(this.stream); }, after);
  }
}
