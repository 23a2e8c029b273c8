// The line above an answer. Each fact has its place from the beginning, so that nothing moves when it comes.

import { count, element, say, seconds } from "./dom.js";

const NAMES = ["State", "Elapsed", "First token", "Tokens/s", "Tokens", "Finish"];
const STATES = { waiting: "waiting", streaming: "streaming", completed: "completed", broken: "broken", left: "left early" };

export class Status {
  constructor(root, title) {
    this.title = title;
    this.places = {};
    for (const name of NAMES) {
      const place = element("dd", {}, "–");
      this.places[name] = place;
      root.append(element("div", {}, element("dt", {}, name), place));
    }
  }

  render(store) {
    const line = store.current;
    if (!line) return;
    const facts = line.facts;
    const { State, Elapsed, "First token": First, "Tokens/s": Rate, Tokens, Finish } = this.places;
    say(this.title, facts.model ? `${line.title} · ${facts.model}` : line.title);
    say(State, facts.error ? `broken: ${facts.error}` : STATES[facts.state]);
    State.title = State.textContent;
    State.dataset.state = facts.state;
    say(Elapsed, seconds(store.elapsed(line)));
    say(First, facts.first === undefined || facts.first === null ? "–" : seconds(facts.first));
    say(Rate, facts.rate ? `${facts.estimated ? "≈ " : ""}${facts.rate < 100 ? facts.rate.toFixed(1) : count(Math.round(facts.rate))}` : "–");
    Rate.title = facts.estimated ? "each piece counted as one token" : "as the provider counts tokens";
    const known = [facts.tokens_in, facts.tokens_out].map((tokens) => (tokens === undefined || tokens === null ? "?" : count(tokens)));
    say(Tokens, known.every((one) => one === "?") ? "–" : `${known[0]} in, ${known[1]} out`);
    say(Finish, facts.finish || "–");
  }
}
