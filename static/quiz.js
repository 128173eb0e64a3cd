// A question whose answer is code: it is run and checked in the browser's own Python, and the outcome is sent.

import { workbench } from "./workbench.js";

const root = document.querySelector("[data-question]");
const area = root.querySelector("[data-area]");
const printed = document.getElementById("output");

function show({ status, error, verdict }, output) {
  printed.textContent = [output, error].filter(Boolean).join("\n").trim();
  printed.hidden = !printed.textContent;
  if (!verdict) return status === "error" ? "Your code raised an error. It is shown below." : "";
  if (!verdict.solved) return verdict.got;
  area.form.elements.outcome.value = "passed";
  area.form.submit();
  return "The check passes.";
}

workbench(root, {
  files: { "exercise.py": area.defaultValue },
  key: `quiz/${root.dataset.question}`,
  shelf: () => sessionStorage, // an attempt is over soon
  job: (texts) => ({
    source: texts["exercise.py"],
    check: "question_check",
    files: { "question_check.py": root.dataset.check },
  }),
  show,
});
