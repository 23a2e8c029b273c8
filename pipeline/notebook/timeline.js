// The timeline of a stream: lanes of marks, hover, and a scrubber that plays it again.
//
// Items come as messages: { from, items: [[at, lane, event, text, grows], …], lanes: [[kind, name, color], …], ended,
// pictured }; the last says that a picture of it stands above, which is hidden while this is here.
// Each view asks once it is there, and again when it has missed some, so nothing is kept in the state of the notebook.
// All that a model says is put in as text, never as HTML.

const LABEL = 130;
const ROW = 26;
const FOOT = 24;
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600, 1800, 3600];

function make(tag, className, parent) {
  const element = document.createElement(tag);
  element.className = className;
  parent.append(element);
  return element;
}

function render({ model, el }) {
  let items = [];
  let lanes = [];
  let ended = false;
  let at = null; // the index of the scrubber; null: follow what comes
  let playing = null;
  let pending = 0;
  let picture = null;

  const root = make("div", "rxchat-timeline", el);
  const canvas = make("canvas", "rxchat-lanes", root);
  canvas.setAttribute("role", "img");
  const tip = make("div", "rxchat-tip", root);
  tip.hidden = true;
  const bar = make("div", "rxchat-bar", root);
  const play = make("button", "rxchat-play", bar);
  play.type = "button";
  const range = make("input", "rxchat-range", bar);
  range.type = "range";
  range.min = "0";
  range.setAttribute("aria-label", "event of the stream");
  for (const control of [play, range]) control.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes the arrows, and Enter
  const clock = make("output", "rxchat-clock", bar);
  const panel = make("div", "rxchat-panel", root);

  const last = () => (at === null ? items.length - 1 : Math.min(at, items.length - 1));
  const end = () => Math.max(items.length ? items[items.length - 1][0] : 0, 0.001);
  const wide = () => root.clientWidth || 800;
  const xOf = (seconds) => LABEL + (seconds / end()) * (wide() - LABEL - 14);

  function draw() {
    pending = 0;
    const width = wide();
    const height = Math.max(1, lanes.length) * ROW + FOOT;
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    canvas.setAttribute("aria-label", `timeline of ${items.length} events, ${end().toFixed(2)} seconds`);
    const ink = canvas.getContext("2d");
    ink.scale(scale, scale);
    const color = getComputedStyle(root).color;
    ink.font = `12px ${getComputedStyle(root).fontFamily}`;
    ink.textBaseline = "middle";
    lanes.forEach(([, name], lane) => {
      const y = lane * ROW + ROW / 2;
      ink.globalAlpha = 0.85;
      ink.fillStyle = color;
      ink.textAlign = "right";
      ink.fillText(name.length > 18 ? `${name.slice(0, 17)}…` : name, LABEL - 10, y);
      ink.globalAlpha = 0.2;
      ink.fillRect(LABEL, y - 0.5, width - LABEL - 14, 1);
    });
    const shown = last();
    const marks = new Map(); // what falls on one pixel is one mark
    items.forEach(([seconds, lane, , , grows], index) => {
      const x = Math.round(xOf(seconds));
      const key = lane * 100000 + x;
      const mark = marks.get(key);
      if (mark) mark.count += 1;
      else marks.set(key, { x, lane, grows, count: 1, index });
    });
    for (const { x, lane, grows, count, index } of marks.values()) {
      const y = lane * ROW + ROW / 2;
      ink.fillStyle = lanes[lane][2];
      ink.globalAlpha = index <= shown ? 1 : 0.25;
      ink.beginPath();
      if (grows) {
        const tall = 5 + Math.min(count - 1, 5);
        ink.roundRect(x - 1.5, y - tall, 3, 2 * tall, 1.5);
      } else ink.arc(x, y, 4.5, 0, 7);
      ink.fill();
    }
    ink.fillStyle = color;
    ink.textAlign = "center";
    const foot = height - FOOT + 2;
    const step = STEPS.find((size) => end() / size <= 8) || end();
    for (let tick = 0; tick * step <= end() + 1e-9; tick += 1) {
      const x = xOf(tick * step);
      ink.globalAlpha = 0.5;
      ink.fillRect(x, foot, 1, 4);
      ink.globalAlpha = 0.85;
      ink.fillText(`${+(tick * step).toFixed(2)} s`, x, foot + 13);
    }
    if (items.length) {
      ink.globalAlpha = 0.6;
      ink.fillRect(Math.round(xOf(items[shown][0])), 0, 1, foot);
    }
    tell(shown);
  }

  function tell(shown) {
    range.max = String(Math.max(0, items.length - 1));
    range.value = String(shown);
    play.textContent = playing === null ? "▶ Replay" : "❚❚ Pause";
    play.disabled = items.length === 0;
    if (shown < 0) {
      clock.textContent = ended ? "nothing came" : "waiting …";
      panel.replaceChildren();
      return;
    }
    const [seconds, , event] = items[shown];
    clock.textContent = `${seconds.toFixed(3)} s · ${shown + 1} of ${items.length} · ${event}`;
    range.setAttribute("aria-valuetext", clock.textContent);
    const texts = lanes.map(() => []);
    for (let index = 0; index <= shown; index += 1) if (items[index][4]) texts[items[index][1]].push(items[index][3]);
    panel.replaceChildren();
    texts.forEach((pieces, lane) => {
      if (!pieces.length) return;
      const said = make("div", "rxchat-said", panel);
      said.style.borderColor = lanes[lane][2];
      make("span", "rxchat-name", said).textContent = lanes[lane][1];
      make("span", "rxchat-text", said).textContent = pieces.join("");
    });
    panel.scrollTop = panel.scrollHeight;
  }

  function again() {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  function take(message) {
    if (message.from > items.length) {
      model.send({ ask: items.length });
      return;
    }
    items = items.slice(0, message.from).concat(message.items);
    lanes = message.lanes;
    ended = message.ended;
    if (message.pictured && !picture) {
      picture = el.closest(".jp-OutputArea-child")?.previousElementSibling;
      if (picture) picture.style.display = "none";
    }
    again();
  }

  function pause() {
    if (playing !== null) cancelAnimationFrame(playing.frame);
    playing = null;
  }

  function toggle() {
    if (playing !== null) {
      pause();
      again();
      return;
    }
    if (at === null || at >= items.length - 1) at = 0;
    const began = performance.now() - items[at][0] * 1000;
    playing = { frame: 0 };
    const step = (now) => {
      while (at < items.length - 1 && items[at + 1][0] * 1000 <= now - began) at += 1;
      if (at >= items.length - 1) pause();
      else playing.frame = requestAnimationFrame(step);
      draw();
    };
    playing.frame = requestAnimationFrame(step);
  }

  function hover(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const lane = Math.floor((event.clientY - box.top) / ROW);
    let found = null;
    let distance = 8;
    for (const item of items) {
      const away = Math.abs(xOf(item[0]) - x);
      if (item[1] === lane && away < distance) [found, distance] = [item, away];
    }
    tip.hidden = found === null;
    if (found === null) return;
    tip.textContent = `${found[0].toFixed(3)} s  ${found[2]}  ${found[3].slice(0, 300)}`;
    tip.style.left = `${Math.max(0, Math.min(x + 12, wide() - tip.offsetWidth - 4))}px`;
    tip.style.top = `${(lane + 1) * ROW}px`;
  }

  function pick(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    if (!items.length || x < LABEL - 5) return;
    pause();
    at = items.reduce((best, item, index) => (Math.abs(xOf(item[0]) - x) < Math.abs(xOf(items[best][0]) - x) ? index : best), 0);
    again();
  }

  play.addEventListener("click", toggle);
  range.addEventListener("input", () => {
    pause();
    at = Number(range.value);
    if (at >= items.length - 1) at = null;
    again();
  });
  canvas.addEventListener("pointermove", hover);
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("click", pick);
  model.on("msg:custom", take);
  const resized = new ResizeObserver(again);
  resized.observe(root);
  model.send({ ask: 0 });
  draw();
  return () => {
    pause();
    resized.disconnect();
    if (picture) picture.style.display = "";
    model.off("msg:custom", take);
  };
}

export default { render };
