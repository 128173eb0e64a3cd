// A place to edit and run code: the editor, the buttons, and what is kept in this browser. The page says which
// files there are and what a run is; see _workbench.html for the elements.

import { run, start, stop } from "./runner.js";

const STARTED = "queue-lab:python-started"; // in this tab: it was asked for once, so it may come by itself
const ENDINGS = {
  timeout: "It did not end within ten seconds, so it was stopped. Is there a loop without an end, or slow code outside a function?",
  "too much output": "It printed more than 200,000 characters, so it was stopped. Is there a loop without an end?",
  stopped: "Stopped.",
};

/** Make the elements of `root` work. `files` has the original texts by name, `key` is the place in the browser's store,
 *  or in this tab's with `shelf`. `job(texts)` gives what runner.js is to run, or a promise of it, and
 *  `show(result, output)` shows how it went and returns a sentence. */
export function workbench(root, { files, key, job, show, shelf = () => localStorage }) {
  // A browser may refuse to store anything; then the work lasts as long as the page.
  const stored = (name) => {
    try { return shelf().getItem(`queue-lab:${key}/${name}`); } catch { return null; }
  };
  const store = (name, text) => {
    try {
      if (text === null) shelf().removeItem(`queue-lab:${key}/${name}`);
      else shelf().setItem(`queue-lab:${key}/${name}`, text);
    } catch { /* full or refused */ }
  };
  const at = (name) => root.querySelector(`[data-${name}]`);
  const [area, chooser, status, dialog] = ["area", "file", "status", "confirm"].map(at);
  const size = at("size").textContent; // of Python; the status says other things later
  const names = Object.keys(files);
  const texts = Object.fromEntries(names.map((name) => [name, stored(name) ?? files[name]]));
  let editor = null;
  let shown = chooser?.value ?? names[0];

  // What is kept

  function changed(text) {
    texts[shown] = text;
    store(shown, text === files[shown] ? null : text);
    mark();
  }
  function mark() {
    at("changed").hidden = texts[shown] === files[shown];
    at("reset").hidden = texts[shown] === files[shown];
    at("undo").hidden = !(texts[shown] === files[shown] && stored(`${shown}:undo`));
    for (const option of chooser?.options ?? []) {
      option.textContent = option.value + (texts[option.value] === files[option.value] ? "" : " (changed)");
    }
  }
  function put(text) {
    if (editor) editor.text = text;
    else area.value = text;
    changed(text);
  }
  function open(name) {
    shown = name;
    if (editor) editor.show(name, texts[name]);
    else area.value = texts[name];
    if (chooser) chooser.value = name;
    mark();
  }
  at("reset").addEventListener("click", () => dialog.showModal());
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "reset") return;
    store(`${shown}:undo`, texts[shown]);
    put(files[shown]);
    status.textContent = `${shown} is as it was at first. “Undo the reset” brings your text back.`;
    at("undo").focus();
  });
  at("undo").addEventListener("click", () => {
    put(stored(`${shown}:undo`));
    store(`${shown}:undo`, null);
    status.textContent = "Your text is back.";
    at("reset").focus();
  });
  chooser?.addEventListener("change", () => open(chooser.value));
  area.addEventListener("input", () => changed(area.value));

  // Python

  const words = at("run").lastElementChild;
  const offered = words.textContent;
  let busy = false; // with a run that was asked for, which may still wait for Python
  function state(name) {
    root.dataset.python = name;
    const waits = name === "loading" ? "Waits for Python" : "Running";
    words.textContent = busy ? waits : name === "failed" ? "Try again" : offered;
    at("run").setAttribute("aria-disabled", String(busy));
  }
  async function load() {
    state("loading");
    status.textContent = `Python is loading, ${size}.${busy ? " Your code runs as soon as it is here." : ""}`;
    await start((bytes) => {
      at("progress").value += bytes;
      if (at("progress").value < at("progress").max) return;
      status.textContent = `Loaded. Python is starting.${busy ? " Your code runs then." : ""}`;
    });
    remember();
    if (!busy) ready("Python is ready.");
  }
  function ready(sentence, name = "ready") {
    busy = false;
    const focused = document.activeElement === at("stop");
    state(name);
    if (focused) at("run").focus(); // what is not shown any more would lose the focus
    status.textContent = sentence;
  }
  function failed(error) {
    at("progress").value = 0;
    ready(`Loading Python failed: ${error.message}. Is there a connection? Then try again.`, "failed");
  }
  async function go() {
    if (busy || root.dataset.python === "impossible") return;
    busy = true;
    let output = "";
    let result;
    try {
      if (root.dataset.python !== "ready") await load();
      const { source, ...more } = await job(texts);
      state("running");
      status.textContent = root.dataset.ended ? "Running. What is shown is still from the run before." : "Running.";
      editor?.mark(0);
      result = await run(source, { ...more, onOutput: (text) => (output += text) });
    } catch (error) {
      return failed(error);
    }
    root.dataset.ended = result.status;
    root.dataset.verdict = result.verdict ? (result.verdict.solved ? "right" : "wrong") : "";
    let said;
    try {
      said = show(result, output);
    } catch (error) { // code that runs in the worker can send any result
      result = { status: "failed", error: error.message };
    }
    ready(result.status === "failed" ? `Python broke: ${result.error}` : (ENDINGS[result.status] ?? said));
    const file = result.file?.replace(/^lessons\//, "");
    if (file in files) {
      if (file !== shown) open(file);
      editor?.mark(result.line);
    }
  }
  at("run").addEventListener("click", go);
  at("stop").addEventListener("click", stop);
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    go();
  });

  root.classList.add("live");
  area.readOnly = false;
  open(shown);
  if (typeof WebAssembly !== "object") {
    state("impossible");
    status.textContent = "This browser has no WebAssembly, so Python cannot run here. The task, the hints and the solution are all there.";
  } else {
    state("off");
    if (wasStarted()) load().catch((error) => busy || failed(error)); // a run that waits says so itself
  }
  import("./editor.js").then(({ upgrade }) => {
    editor = upgrade(area, { onRun: go, onChange: changed });
    editor.show(shown, texts[shown]);
  });
}

/** A text as lines that can wrap: a <li> each in the list `list`, with a class where `kind` gives one. */
export function lines(list, text, none) {
  const all = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  list.replaceChildren(...all.slice(0, 500).map((line) => element("li", line || " ")));
  if (all.length > 500) list.append(element("li", `and ${all.length - 500} more line${all.length === 501 ? "" : "s"}`, "none"));
  if (!all.length) list.append(element("li", none, "none"));
}

export function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function remember() {
  try { sessionStorage.setItem(STARTED, "yes"); } catch { /* refused */ }
}
function wasStarted() {
  try { return sessionStorage.getItem(STARTED) === "yes"; } catch { return false; }
}
