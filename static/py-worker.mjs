// Python in a worker of its own. What it may fetch is said by the policy of this file's response: Pyodide's own
// files and runner.py, and nothing else of the application. The page sends the rest.

import { loadPyodide } from "./vendor/pyodide/pyodide.mjs";

const MOST = 200_000; // characters of output in a run
const say = (type, data) => postMessage({ type, data });
const here = (address) => new URL(address, import.meta.url);

// Pyodide fetches by itself, so its progress is counted on the way.
const get = self.fetch;
self.fetch = async (...asked) => {
  const response = await get(...asked);
  if (!response.body) return response;
  const count = new TransformStream({
    transform(chunk, controller) {
      say("progress", chunk.length);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(count), response);
};

// A worker that closes itself tells nobody, so a learner's code cannot do it.
self.close = () => {
  throw new Error("Only the page can end this worker: press Stop");
};

let decoder, buffer, sent, last;
function flush() {
  if (buffer) say("out", buffer);
  sent += buffer.length;
  buffer = "";
  last = performance.now();
}
function write(bytes) {
  buffer += decoder.decode(bytes, { stream: true });
  if (performance.now() - last > 30 || buffer.length > 8192) flush();
  if (sent > MOST) {
    say("too much");
    for (;;); // the page ends this worker
  }
  return bytes.length;
}
function begin() {
  decoder = new TextDecoder();
  [buffer, sent, last] = ["", 0, -Infinity];
}

const ready = (async () => {
  const [python, runner] = await Promise.all([
    loadPyodide({ indexURL: here("./vendor/pyodide/pyodide.mjs").href.replace(/[^/]*$/, ""), checkAPIVersion: true }),
    get(here("./py/runner.py")).then((response) => response.text()),
  ]);
  begin();
  python.setStdout({ write });
  python.setStderr({ write });
  python.setStdin({ error: true });
  python.runPython(runner, { filename: "<runner>" });
  return python.globals;
})();
// Pyodide tells nobody when its largest file does not come.
const broken = (event) => (event.preventDefault(), say("failed", String(event.reason)));
addEventListener("unhandledrejection", broken);
ready.then(() => removeEventListener("unhandledrejection", broken)).then(() => say("ready"), (error) => say("failed", String(error)));

onmessage = async ({ data: { files, job } }) => {
  const globals = await ready;
  if (files) globals.get("install")(JSON.stringify(files));
  if (!job) return;
  begin();
  try {
    const result = globals.get("run")(JSON.stringify(job));
    flush();
    say("done", JSON.parse(result));
  } catch (error) {
    say("failed", String(error)); // Pyodide itself broke: this worker is not used again
  }
};
