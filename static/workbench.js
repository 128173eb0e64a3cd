// A place to edit and run code: the editor, the buttons, and what is kept in this browser. The page says which
// files there are and what a run is; see _workbench.html for the elements.

import { run, start, stop } from "./runner.js";

const STARTED = "queue-lab:python-started"; // in this tab: it was asked for once, so it may come by itself
const ENDINGS = {
  timeout: "It did not end within ten seconds, so it was stopped. Is there a loop without an end?",
  "too much output": "It printed more than 200,000 characters, so it was stopped. Is there a loop without an end?",
  stopped: "Stopped.",
};

/** Make the elements of `root` work. `files` has the original texts by name, `key` is the place in the browser's store,
 *  `job(texts)` gives what runner.js is to run, `show(result, output)` shows how it went and returns a sentence. */
export function workbench(root, { files, key, job, show }) {
  const at = (name) => root.querySelector(`[data-${name}]`);
  const [area, chooser, status, dialog] = ["area", "file", "status", "confirm"].map(at);
  const names = Object.keys(files);
  const texts = Object.fromEntries(names.map((name) => [name, stored(`${key}/${name}`) ?? files[name]]));
  let editor = null;
  let shown = chooser?.value ?? names[0];

  // What is kept

  function changed(text) {
    texts[shown] = text;
    store(`${key}/${shown}`, text === files[shown] ? null : text);
    mark();
  }
  function mark() {
    at("changed").hidden = texts[shown] === files[shown];
    at("reset").hidden = texts[shown] === files[shown];
    at("undo").hidden = !(texts[shown] === files[shown] && stored(`${key}/${shown}:undo`));
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
    store(`${key}/${shown}:undo`, texts[shown]);
    put(files[shown]);
    status.textContent = `${shown} is as it was at first. “Undo the reset” brings your text back.`;
    at("undo").focus();
  });
  at("undo").addEventListener("click", () => {
    put(stored(`${key}/${shown}:undo`));
    store(`${key}/${shown}:undo`, null);
    status.textContent = "Your text is back.";
    at("reset").focus();
  });
  chooser?.addEventListener("change", () => open(chooser.value));
  area.addEventListener("input", () => changed(area.value));

  // Python

  const state = (name) => (root.dataset.python = name);
  async function load() {
    state("loading");
    status.textContent = "Python is loading.";
    const bar = at("progress");
    let got = 0;
    try {
      await start((bytes) => (bar.value = Math.min((got += bytes) / root.dataset.bytes, 1)));
    } catch (error) {
      state("off");
      status.textContent = `Python could not be loaded: ${error.message}.`;
      return false;
    }
    remember();
    state("ready");
    status.textContent = "Python is ready.";
    return true;
  }
  let busy = false;
  async function go() {
    if (busy) return;
    busy = true;
    const moveFocus = document.activeElement === at("start");
    if (root.dataset.python !== "ready" && !(await load())) return (busy = false);
    if (moveFocus) at("run").focus();
    state("running");
    status.textContent = "Running.";
    editor?.mark(0);
    let output = "";
    const { source, ...more } = job(texts);
    const result = await run(source, { ...more, onOutput: (text) => (output += text) });
    state("ready");
    busy = false;
    root.dataset.ended = result.status;
    const said = show(result, output);
    if (result.status === "failed") status.textContent = `Python broke: ${result.error}`;
    else status.textContent = ENDINGS[result.status] ?? said;
    const file = result.file?.replace(/^lessons\//, "");
    if (file in files) {
      if (file !== shown) open(file);
      editor?.mark(result.line);
    }
  }
  at("start").addEventListener("click", load);
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
    if (wasStarted()) load();
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
  if (all.length > 500) list.append(element("li", `and ${all.length - 500} more lines`, "none"));
  if (!all.length) list.append(element("li", none, "none"));
}

export function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// A browser may refuse to store anything; then the work lasts as long as the page.
function stored(name) {
  try { return localStorage.getItem(`queue-lab:${name}`); } catch { return null; }
}
function store(name, text) {
  try {
    if (text === null) localStorage.removeItem(`queue-lab:${name}`);
    else localStorage.setItem(`queue-lab:${name}`, text);
  } catch { /* full or refused */ }
}
function remember() {
  try { sessionStorage.setItem(STARTED, "yes"); } catch { /* refused */ }
}
function wasStarted() {
  try { return sessionStorage.getItem(STARTED) === "yes"; } catch { return false; }
}
