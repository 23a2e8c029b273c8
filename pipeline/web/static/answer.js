// The answer: one view for each block, in the order in which they opened; the result of a call stands in the call.

import { count, element, say, Sticky } from "./dom.js";
import { Markdown } from "./markdown.js";
import { Plain } from "./plain.js";
import { Pretty } from "./pretty.js";

export class Answer {
  constructor(root) {
    this.root = root;
    this.sticky = new Sticky(root);
    this.asMarkdown = this.unfolded = true;
    this.clear(true);
  }

  /** Begin anew, to be read from the end as it grows (`live`), or from the top. */
  clear(live) {
    this.views = new Map();
    this.root.replaceChildren();
    this.root.classList.remove("several");
    this.root.scrollTop = 0;
    this.sticky.stuck = live;
  }

  /** Bring the view up to date with what the store has. */
  render(store) {
    if (!store.changed.size) return;
    for (const id of [...store.changed].sort((one, other) => one - other)) this.#show(store.blocks[id]);
    store.changed.clear();
    this.sticky.grown();
  }

  /** The answer as Markdown, or as plain text. */
  turn(asMarkdown, store) {
    this.asMarkdown = asMarkdown;
    const top = this.root.scrollTop;
    const { stuck } = this.sticky;
    this.clear(stuck);
    store.changed = new Set(Object.keys(store.blocks).map(Number));
    this.render(store);
    if (!stuck) this.root.scrollTop = top;
  }

  fold(unfolded) {
    this.unfolded = unfolded;
    for (const details of this.root.querySelectorAll("details.reasoning")) details.open = unfolded;
  }

  #show(block) {
    let view = this.views.get(block.id);
    if (!view) {
      view = new (VIEWS[block.kind] ?? Note)(block, this);
      this.views.set(block.id, view);
      const call = block.kind === "result" ? this.views.get(block.facts.call) : undefined;
      (call?.results ?? this.root).append(view.root);
    }
    if (block.choice > 0) this.root.classList.add("several");
    view.update(block);
    view.root.classList.toggle("void", Boolean(block.facts.void));
    if (block.came > block.text.length) {
      view.cut ??= view.root.appendChild(element("p", { class: "cut" }));
      say(view.cut, `… ${count(block.came - block.text.length)} more characters came than this page keeps`);
    } else if (view.cut) {
      view.cut.remove();
      view.cut = undefined;
    }
  }
}

function choice(block) {
  return element("span", { class: "choice" }, `choice ${block.choice}`);
}

class Text {
  constructor(block, answer) {
    const names = { text: "", refusal: "Refusal", audio: "Spoken" };
    const body = element("div", { class: "body", dir: "auto" });
    this.root = element("section", { class: `block ${block.kind}` }, choice(block), body);
    if (names[block.kind]) body.before(element("p", { class: "label" }, names[block.kind]));
    this.body = answer.asMarkdown && block.kind === "text" ? new Markdown(body) : new Plain(body);
  }

  update(block) {
    this.body.update(block.text);
  }
}

class Reasoning {
  constructor(block, answer) {
    const body = element("div", { class: "body", dir: "auto" });
    this.size = element("span", { class: "size" });
    this.root = element("section", { class: "block" }, choice(block),
      element("details", { class: "reasoning", open: answer.unfolded }, element("summary", {}, "Reasoning ", this.size), body));
    this.body = new Plain(body);
  }

  update(block) {
    say(this.size, `${count(block.came)} characters`);
    this.body.update(block.text);
  }
}

class Call {
  constructor(block) {
    this.name = element("code", { class: "name" });
    this.id = element("span", { class: "id" });
    this.state = element("span", { class: "state" });
    const body = element("div", { class: "body code" });
    this.results = element("div", { class: "results" });
    this.root = element("section", { class: "block call" }, choice(block),
      element("p", { class: "label" }, "Calls ", this.name, " ", this.id, this.state), body, this.results);
    this.body = new Plain(body);
    this.pretty = new Pretty();
    this.read = 0;
    this.shown = "";
  }

  update(block) {
    const { name, id, complete, ended } = block.facts;
    say(this.name, name || "…");
    say(this.id, id ?? "");
    say(this.state, complete === true ? "complete" : complete === false ? "not complete" : ended ? "ended" : "growing …");
    this.state.dataset.state = complete === true ? "done" : complete === false ? "bad" : "open";
    this.shown += this.pretty.feed(block.text.slice(this.read));
    this.read = block.text.length;
    this.body.update(this.shown);
  }
}

class Result {
  constructor(block) {
    const body = element("div", { class: "body code", dir: "auto" });
    this.label = element("p", { class: "label" });
    this.root = element("section", { class: "result" }, this.label, body);
    this.body = new Plain(body);
  }

  update(block) {
    const { name, error } = block.facts;
    say(this.label, error ? `${name} failed: ${error}` : `${name} answered`);
    this.root.classList.toggle("failed", Boolean(error));
    this.body.update(block.text);
  }
}

class Note {
  constructor(block) {
    const body = element("div", { class: "body" });
    this.label = element("p", { class: "label" });
    this.root = element("section", { class: `block note ${block.kind}` }, this.label, body);
    this.body = new Plain(body);
  }

  update(block) {
    const { kind, ...rest } = block.facts;
    delete rest.round;
    delete rest.void;
    const known = Object.entries(rest).map(([name, value]) => `${name} ${value}`);
    say(this.label, block.kind === "error" ? [`The stream broke: ${kind}`, ...known].join(" · ") : "");
    this.body.update(block.text);
  }
}

const VIEWS = { text: Text, refusal: Text, audio: Text, reasoning: Reasoning, call: Call, result: Result };
