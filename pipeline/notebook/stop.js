// A Stop button. It is hidden until the kernel has answered: so it is seen only where a click is heard while a cell runs.
function render({ model, el }) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "■ Stop";
  button.hidden = true;
  button.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes Enter
  button.style.cssText =
    "font:inherit;font-size:.9em;padding:.15em .9em;border-radius:4px;cursor:pointer;" +
    "color:inherit;background:rgba(127,127,127,.13);border:1px solid rgba(127,127,127,.5)";
  button.addEventListener("click", () => {
    button.disabled = true;
    button.textContent = "stopping …";
    model.send("stop");
  });
  const heard = () => {
    button.hidden = false;
    clearInterval(asking);
  };
  model.on("msg:custom", heard);
  const asking = setInterval(() => model.send("here"), 300);
  el.append(button);
  return () => {
    clearInterval(asking);
    model.off("msg:custom", heard);
  };
}

export default { render };
