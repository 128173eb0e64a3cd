// A section's program to edit and run, with what it prints beside what the original prints.

import { json } from "./runner.js";
import { element, workbench } from "./workbench.js";

const MOST = 1500; // lines that are compared: no run has more steps than recorder.STEP_LIMIT
const root = document.querySelector("[data-program]");
const $ = (id) => document.getElementById(id);
const original = [...document.querySelectorAll("#compare tbody td:nth-child(2)")].map((cell) => cell.textContent);

/** [original, yours] for each row: the longest common lines side by side, and null where a side has no such line. */
function rows(left, right) {
  const common = Array.from({ length: left.length + 1 }, () => new Array(right.length + 1).fill(0));
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      common[i][j] = left[i] === right[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const found = [];
  const [lefts, rights] = [[], []];
  const flush = () => {
    while (lefts.length || rights.length) found.push([lefts.shift() ?? null, rights.shift() ?? null]);
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      flush();
      found.push([left[i++], right[j++]]);
    } else if (j >= right.length || (i < left.length && common[i + 1][j] >= common[i][j + 1])) lefts.push(left[i++]);
    else rights.push(right[j++]);
  }
  flush();
  return found;
}

function show(result, output) {
  const printed = output === "" ? [] : output.replace(/\n$/, "").split("\n");
  const broke = !printed.length && result.status !== "ok"; // then there is nothing to compare
  const found = rows(original, broke ? original : printed.slice(0, MOST));
  let different = 0;
  $("compare").tBodies[0].replaceChildren(
    ...found.map(([left, right]) => {
      const same = left === right;
      different += !same;
      const row = element("tr", "", same ? "" : "differs");
      const sign = element("td", same ? "" : "≠");
      if (!same) sign.append(element("span", " differs", "unseen"));
      row.append(sign, ...[left, broke ? "" : right].map((line) => element("td", line ?? "", line === null ? "missing" : "")));
      return row;
    }),
  );
  $("compare").classList.add("ran");
  $("more").textContent = printed.length > MOST ? `Your program printed ${printed.length} lines; the first ${MOST} are compared.` : "";
  $("error").hidden = !result.error;
  $("error").textContent = result.error ?? "";
  $("steps").hidden = !result.steps;
  $("steps").querySelector("summary").textContent = `All ${result.steps?.length ?? 0} steps of your run in words`;
  $("steps").querySelector("ol").replaceChildren(...(result.steps ?? []).map((step) => element("li", step)));
  if (broke) return "Your program raised an error before it printed anything.";
  const lines = different === 1 ? "1 line differs" : `${different} lines differ`;
  const said = different ? `${lines} from the original's.` : "It printed the same as the original.";
  return result.status === "error" ? `Your program raised an error. ${said}` : said;
}

try {
  const texts = await json(root.dataset.files);
  workbench(root, {
    files: texts,
    key: `edit${location.pathname}`,
    job: (changed) => ({
      source: "",
      section: root.dataset.program,
      params: JSON.parse(root.dataset.params),
      files: Object.fromEntries(Object.entries(changed).map(([name, text]) => [`lessons/${name}`, text])),
    }),
    show,
  });
} catch (error) {
  const again = Object.assign(element("a", "Load this page again."), { href: "" });
  root.querySelector("[data-status]").replaceChildren(`The files could not be loaded: ${error.message}. `, again);
}
