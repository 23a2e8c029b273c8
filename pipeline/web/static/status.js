// The line above an answer. Each fact has its place from the beginning, so that nothing moves when it comes.

import { count, element, say, seconds } from "./dom.js";

const NAMES = ["State", "Elapsed", "First token", "Rate", "Tokens", "Finish"];
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
    const { State, Elapsed, "First token": First, Rate, Tokens, Finish } = this.places;
    say(this.title, facts.model ? `${line.title} · ${facts.model}` : line.title);
    const more = [facts.round > 1 && `round ${facts.round}`, facts.retries && `${facts.retries} ${facts.retries === 1 ? "retry" : "retries"}`].filter(Boolean);
    say(State, [facts.error ? `broken: ${facts.error}` : STATES[facts.state], ...more].join(", "));
    State.dataset.state = facts.state;
    say(Elapsed, seconds(store.elapsed(line)));
    say(First, facts.first === undefined || facts.first === null ? "–" : seconds(facts.first));
    say(Rate, facts.rate ? `${facts.estimated ? "≈ " : ""}${facts.rate < 100 ? facts.rate.toFixed(1) : count(Math.round(facts.rate))} /s` : "–");
    Rate.title = facts.estimated ? "tokens a second, each piece counted as one" : "tokens a second, as the provider counts";
    const known = [facts.tokens_in, facts.tokens_out].map((tokens) => (tokens === undefined || tokens === null ? "?" : count(tokens)));
    say(Tokens, known.every((one) => one === "?") ? "–" : `${known[0]} in, ${known[1]} out`);
    say(Finish, facts.finish || "–");
  }
}
