// A question whose answer is code: it is run and checked in the browser's own Python, and the outcome is sent.

import { run, start, stop } from "./runner.js";

const $ = (id) => document.getElementById(id);
const area = $("answer");
const form = area.form;
const check = `${form.dataset.check}

import dataclasses, sys
check_names = check

@dataclasses.dataclass
class Verdict:
    passed: bool
    message: str

def check(source):
    try:
        check_names(vars(sys.modules["__main__"]))
    except AssertionError as error:
        return Verdict(False, str(error))
    return Verdict(True, "")
`;
const ENDINGS = {
  error: "Your code raised an error. It is shown below.",
  timeout: "Your code did not end within ten seconds. Is there a loop without an end?",
  "too much output": "Your code printed too much. Is there a loop without an end?",
  stopped: "Stopped.",
};

function say(kind, text) {
  $("outcome").className = `outcome ${kind}`;
  $("outcome").textContent = text;
}

async function runAndCheck() {
  if (form.dataset.running) return;
  form.dataset.running = "yes";
  $("stop-check").hidden = false;
  say("", "Python is starting. The first time this takes a few seconds.");
  let printed = "";
  try {
    await start();
    say("", "Your code runs.");
    const files = { "question_check.py": check };
    tell(await run(area.value, { files, check: "question_check", onOutput: (text) => (printed += text) }), printed);
  } catch (error) {
    say("wrong", `Python could not be loaded: ${error.message}.`);
  }
  delete form.dataset.running;
  $("stop-check").hidden = true;
}

function tell({ status, error, verdict }, printed) {
  const output = [printed, error].filter(Boolean).join("\n").trim();
  $("output").hidden = !output;
  $("output").textContent = output;
  if (!verdict) return say("wrong", ENDINGS[status] ?? `Your code could not be run: ${error ?? status}.`);
  if (!verdict.passed) return say("wrong", verdict.message);
  say("right", "The check passes.");
  form.elements.outcome.value = "passed";
  form.submit();
}

$("without").hidden = true;
$("run-check").hidden = false;
$("run-check").addEventListener("click", runAndCheck);
$("stop-check").addEventListener("click", stop);
area.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  runAndCheck();
});
const { upgrade } = await import("./editor.js");
upgrade(area, { onRun: runAndCheck });
