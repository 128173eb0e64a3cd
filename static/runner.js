// Python in a worker, which is used again as long as a run leaves it as it was. When a run takes long, another one is
// loaded beside it, and stays: then it can be stopped at any time, and the next run need not wait.

const WORKER = new URL("./py-worker.mjs", import.meta.url);
const PATIENCE_MS = 60_000; // without any news while Python is loaded: a refused file is never reported
const LONG_MS = 2_000;

/** What is at that address. Rejected when it cannot be had. */
export async function json(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.json();
}

let lessons; // the package, name -> text; asked for once, and again if that failed
const idle = []; // the one that runs next comes first
let current = null;

function spawn() {
  lessons ??= json("/python/lessons.json").catch((error) => {
    lessons = null;
    throw error;
  });
  const files = lessons;
  const worker = new Worker(WORKER, { type: "module", name: "python" });
  worker.ready = new Promise((resolve, reject) => {
    let patience;
    const wait = () => {
      clearTimeout(patience);
      patience = setTimeout(() => reject(new Error("it took too long to load")), PATIENCE_MS);
    };
    wait();
    worker.onmessage = ({ data: { type, data } }) => {
      wait();
      if (type === "progress") worker.onprogress?.(data);
      if (type === "ready") {
        clearTimeout(patience);
        worker.isReady = true;
        files.then((files) => worker.postMessage({ files })).then(resolve, reject);
      }
      if (type === "failed") reject(new Error(data));
    };
    files.catch(reject);
    worker.onerror = (event) => reject(new Error(event.message || "it could not be loaded"));
  });
  worker.ready.catch(() => {
    worker.terminate();
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
  });
  return worker;
}

function spare() {
  if (!idle.length) idle.push(spawn());
}

/** Load Python; onProgress gets the number of bytes with each piece that arrives. Rejected when it cannot be loaded. */
export function start(onProgress) {
  spare();
  if (onProgress) idle[0].onprogress = onProgress;
  return idle[0].ready;
}

/** Run a program, or what `job` describes (see py/runner.py), and give onOutput what it prints.
 *  Resolves with { status, error, file, line, verdict, steps }; status is one of ok, error, timeout, stopped,
 *  "too much output", failed. */
export function run(source, { onOutput = () => {}, timeout = 10_000, files, ...job } = {}) {
  stop();
  const worker = (current = idle.shift() ?? spawn());
  return new Promise((resolve) => {
    const timers = [];
    let over = false;
    const end = (result, keep = false) => {
      if (over) return; // a worker can say more than it should
      over = true;
      timers.forEach(clearTimeout);
      worker.finish = null;
      if (current === worker) current = null;
      if (keep) idle.unshift(worker);
      else worker.terminate();
      if (result.status !== "failed") spare();
      resolve(result);
    };
    worker.finish = end;
    worker.ready.then(
      () => {
        if (over) return;
        timers.push(setTimeout(() => end({ status: "timeout" }), timeout));
        timers.push(setTimeout(spare, LONG_MS));
        worker.onmessage = ({ data: { type, data } }) => {
          if (type === "out") onOutput(data);
          else if (type === "done") end({ ...data, status: data?.error ? "error" : data ? "ok" : "failed" }, data?.clean);
          else if (type === "too much") end({ status: "too much output" });
          else if (type === "failed") end({ status: "failed", error: data });
        };
        worker.postMessage({ files, job: { source, ...job } });
      },
      (error) => over || end({ status: "failed", error: error.message }),
    );
  });
}

/** End what runs, at once. A Python that is still being loaded is kept. */
export function stop() {
  current?.finish?.({ status: "stopped" }, !current.isReady);
}
