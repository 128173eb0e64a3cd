// An exercise: its code is run and judged in the browser; what is solved is told to the server, if it keeps that.

import { json } from "./runner.js";
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
  const tried = verdict.tried === 1 ? "1 schedule" : `${verdict.tried} schedules`;
  if (verdict.solved) {
    tell();
    $("afterwards").open = true;
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
  const these = many === 1 ? "This one step shows" : `These ${many} steps show`;
  const shortest = verdict.tried === 1
    ? "Your code fails in the first schedule tried."
    : `Of the ${tried} tried, this is the shortest one found in which your code fails.`;
  const found = many ? shortest : "Your code cannot be tried yet.";
  $("verdict-body").replaceChildren(element("p", found), ...(many ? [steps] : []), outcome);
  if (many && verdict.printed) {
    $("verdict-body").append(element("p", "Printed in these steps:"), element("pre", verdict.printed, "plain"));
  }
  return many ? `Not yet. ${these} the fault, below.` : `Not yet. ${found}`;
}

if (root.dataset.check) {
  workbench(root, {
    files: { "exercise.py": root.querySelector("[data-area]").defaultValue },
    key: `exercise/${slug}`,
    job: async (texts) => ({
      source: texts["exercise.py"],
      check: root.dataset.check,
      files: await json(`/practice/${slug}/files.json`),
    }),
    show,
  });
}
// What is not chosen yet is no part of the address; if that is everything, nothing is asked.
const form = document.querySelector("#questions form");
form?.addEventListener("submit", (event) => {
  if ([...form.elements].some((field) => field.matches("select") && field.value !== "open")) return;
  event.preventDefault();
  $("nothing").hidden = false;
  form.querySelector("select").focus();
});
form?.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (value === "open") formData.delete(name);
});
if (root.dataset.solved) tell();
