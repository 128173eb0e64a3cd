// An exercise: its code is run and judged in the browser; what is solved is told to the server, if it keeps that.

import { element, lines, workbench } from "./workbench.js";

const root = document.querySelector("[data-exercise]");
const slug = root.dataset.exercise;
const $ = (id) => document.getElementById(id);

const tell = () => fetch(`/progress/solved/${slug}`, { method: "POST" }).catch(() => {});

function show(result, output) {
  lines($("output"), output, "Nothing.");
  $("error").hidden = !result.error;
  $("error").textContent = result.error ?? "";
  const verdict = result.verdict;
  $("verdict").hidden = !verdict;
  $("results").hidden = false;
  if (!verdict) return result.status === "error" ? "Your code raised an error. It is shown below." : "";
  $("verdict").classList.toggle("right", verdict.solved);
  $("h-verdict").textContent = verdict.solved ? "Solved" : "Not yet";
  const tried = `${verdict.tried} schedules`;
  if (verdict.solved) {
    tell();
    $("verdict-body").replaceChildren(element("p", `Your code did what it should in all ${tried}.`));
    return `Solved: your code did what it should in all ${tried}.`;
  }
  const steps = element("ol", "", "steps");
  steps.append(...verdict.steps.map((step) => element("li", step)));
  const outcome = element("dl", "", "outcome");
  outcome.append(
    element("dt", "Expected"), element("dd", verdict.expected, "expected"),
    element("dt", "Your code"), element("dd", verdict.got, "got"),
  );
  const many = verdict.steps.length;
  const found = many
    ? `Of ${tried} this is the shortest way found to break your code, and every step is needed.`
    : "Your code cannot be tried yet.";
  $("verdict-body").replaceChildren(element("p", found), ...(many ? [steps] : []), outcome);
  if (verdict.printed) {
    $("verdict-body").append(element("p", "Printed in these steps:"), element("pre", verdict.printed, "plain"));
  }
  return `Not yet: ${many} step${many === 1 ? "" : "s"} break your code. They are listed below.`;
}

if (root.dataset.check) {
  const check = fetch(`/practice/${slug}/files.json`).then((response) => response.json());
  const starter = root.querySelector("[data-area]").defaultValue;
  check.then((extra) =>
    workbench(root, {
      files: { "exercise.py": starter },
      key: `exercise/${slug}`,
      job: (texts) => ({ source: texts["exercise.py"], check: root.dataset.check, files: extra }),
      show,
    }),
  );
}
if (root.dataset.solved) tell();
