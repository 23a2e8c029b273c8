// A Stop button: says so once, and waits to be taken away.
function render({ model, el }) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "■ Stop";
  button.style.cssText =
    "font:inherit;font-size:.9em;padding:.15em .9em;border-radius:4px;cursor:pointer;" +
    "color:inherit;background:rgba(127,127,127,.13);border:1px solid rgba(127,127,127,.5)";
  button.addEventListener("click", () => {
    button.disabled = true;
    button.textContent = "stopping …";
    model.send("stop");
  });
  el.append(button);
}

export default { render };
