// The page: updates come in, are merged into the store, and are shown with the next frame.

import { Answer } from "./answer.js";
import { Connection } from "./connection.js";
import { $, say } from "./dom.js";
import { Events } from "./events.js";
import { Status } from "./status.js";
import { Store } from "./store.js";
import { Streams } from "./streams.js";
import { Timeline } from "./timeline.js";

const STATES = {
  connecting: "Connecting …",
  open: "Live",
  lost: "Connection lost, trying again …",
  closed: "Closed by the program; what came stays here",
};

const store = new Store();
const answer = new Answer($("answer"));
const events = new Events(store);
const status = new Status($("facts"), $("title"));
const timeline = new Timeline($("timeline"), $("timeline-text"), (n) => events.choose(n));
const streams = new Streams($("stream-list"), (id) => { location.hash = `stream-${id}`; });
const connection = new Connection(merge, (state) => {
  say($("connection"), STATES[state]);
  $("connection").dataset.state = state;
});

let due = false;

function merge(update) {
  if (store.merge(update)) {
    answer.clear((store.current?.facts.ended ?? null) === null);
    events.clear();
  }
  soon();
}

function soon() {
  if (!due) requestAnimationFrame(show);
  due = true;
}

function show() {
  due = false;
  streams.render(store);
  status.render(store);
  answer.render(store);
  events.render();
  timeline.render(store);
  const line = store.current;
  document.title = line ? `${line.facts.state === "streaming" ? "▶ " : ""}${$("title").textContent} – rxchat` : "rxchat";
}

// Time goes on where nothing comes.
setInterval(() => { if (store.current && (store.current.facts.ended ?? null) === null) soon(); }, 250);

// Which stream: the one in the URL, or the newest.
function chosen() {
  const found = /^#stream-(\d{1,9})$/.exec(location.hash);
  return found ? Number(found[1]) : null;
}

function connect() {
  $("follow").checked = chosen() === null;
  connection.open(chosen());
}

function follow(newest) {
  history.replaceState(null, "", newest ? location.pathname : `#stream-${store.stream ?? 1}`);
  connect();
}

addEventListener("hashchange", connect);
$("follow").addEventListener("change", (event) => follow(event.target.checked));

function step(by) {
  const ids = [...store.streams.keys()].reverse(); // as they are shown
  const to = ids[ids.indexOf(store.stream) + by];
  if (to !== undefined) location.hash = `stream-${to}`;
}

// What to show of it.
function pane(name) {
  document.body.dataset.pane = name;
  for (const tab of document.querySelectorAll("#tabs button")) tab.setAttribute("aria-pressed", String(tab.dataset.pane === name));
  soon();
}

function toggle(button, change) {
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(on));
  change(on);
}

const turnMarkdown = () => toggle($("markdown"), (on) => answer.turn(on, store));
const turnReasoning = () => toggle($("reasoning"), (on) => answer.fold(on));
const help = () => ($("help").open ? $("help").close() : $("help").showModal());

for (const tab of document.querySelectorAll("#tabs button")) tab.addEventListener("click", () => pane(tab.dataset.pane));
$("markdown").addEventListener("click", turnMarkdown);
$("reasoning").addEventListener("click", turnReasoning);
$("help-button").addEventListener("click", help);

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => follow(true),
  a: () => { pane("answer"); $("answer").focus(); },
  m: turnMarkdown,
  r: turnReasoning,
  e: () => { pane("events"); $("events").focus(); },
  "/": () => { pane("events"); $("search").focus(); },
  "?": help,
};

addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !$("help").open) {
    if ($("search").value && document.activeElement === $("search")) return; // the browser clears it
    if (events.detailIsOpen) events.closeDetail();
    else if (document.activeElement === $("search")) $("events").focus();
    return;
  }
  const typing = event.target.matches?.("input[type=search]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || ($("help").open && event.key !== "?")) return;
  const act = KEYS[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

pane("answer");
connect();
