// The list of streams.

import { element, say } from "./dom.js";

export class Streams {
  constructor(list, choose) {
    this.list = list;
    this.choose = choose;
    this.items = new Map();
  }

  render(store) {
    for (const [id, item] of this.items) {
      if (store.streams.has(id)) continue;
      item.root.remove();
      this.items.delete(id);
    }
    for (const [id, line] of store.streams) {
      const item = this.items.get(id) ?? this.#make(id);
      const current = id === store.stream;
      if (current) item.button.setAttribute("aria-current", "true");
      else item.button.removeAttribute("aria-current");
      if (current && !item.current) item.root.scrollIntoView({ block: "nearest", inline: "nearest" });
      item.current = current;
      item.button.dataset.state = line.facts.state;
      say(item.name, line.title);
      say(item.more, `${line.at} · ${line.facts.state === "left" ? "left early" : line.facts.state}`);
    }
  }

  #make(id) {
    const name = element("span", { class: "name", dir: "auto" });
    const more = element("span", { class: "more" });
    const button = element("button", { type: "button" }, name, more);
    const root = element("li", {}, button);
    button.addEventListener("click", () => this.choose(id));
    this.list.prepend(root); // the newest first
    const item = { root, button, name, more };
    this.items.set(id, item);
    return item;
  }
}
