// A run that is driven by hand. Its links and forms work without this file; with it they keep focus, scroll and
// what is unfolded. What a press asks for changes with every answer, so a quick second press waits for the first.

import { say } from "./app.js";
import { tell } from "./progress.js";

const waiting = [];
let busy = false;

async function press(id) {
  waiting.push(id);
  if (busy) return;
  busy = true;
  try {
    while (waiting.length) {
      await keeping;
      await follow(document.getElementById(waiting.shift()));
    }
  } finally {
    busy = false;
    waiting.length = 0;
  }
}

const controls = () => [...document.querySelectorAll("#drive :is(a[data-drive], form[data-drive] button)")];

async function follow(control) {
  if (!control) return;
  if (control.getAttribute("aria-disabled")) {
    return say(`Not now. ${document.getElementById(control.getAttribute("aria-describedby")).textContent}`);
  }
  const address = control.matches("form")
    ? `${control.getAttribute("action")}?${new URLSearchParams(new FormData(control))}`
    : control.getAttribute("href");
  const lab = document.getElementById("lab");
  const open = [...lab.querySelectorAll("details[id][open]")].map((one) => one.id);
  const place = controls().indexOf(document.activeElement);
  // What is below the run stays under the pointer, however much higher or lower the run becomes.
  const below = control.closest("#drive-more");
  const top = control.getBoundingClientRect().top;
  await htmx.ajax("GET", address, { source: lab, target: lab, select: "#lab", swap: "outerMorph", push: "true" });
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  const now = below && document.getElementById(control.id);
  if (now) scrollBy({ top: now.getBoundingClientRect().top - top, behavior: "instant" });
  if (!below) uncover();
  // What is no longer there hands the focus to what stands in its place.
  if (place >= 0 && document.activeElement === document.body) controls().at(place)?.focus();
}

// On a narrow screen the buttons lie over the lower part of the window, and at first over the queue too.
function uncover() {
  const bar = document.getElementById("transport");
  const parts = [bar, ...[".now", ".lanes", "#drive"].map((one) => document.querySelector(one))];
  const [above, now, lanes, sheet] = parts.map((one) => one.getBoundingClientRect());
  const room = now.top - (getComputedStyle(bar).position === "sticky" ? above.height : 0);
  const top = Math.min(lanes.bottom - sheet.top + 8, room);
  if (lanes.left < sheet.right && top > 0) scrollBy({ top, behavior: "instant" });
}

document.addEventListener("click", (event) => {
  if (event.target.closest('a[href="#goals"]')) document.getElementById("d-goals").open = true;
  const link = event.target.closest("a[data-drive]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  press(link.id);
});

// They look like buttons, so the space bar presses them too.
document.addEventListener("keydown", (event) => {
  const link = event.target.closest("a[data-drive]");
  if (!link || event.key !== " " || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (!event.repeat) link.click();
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-drive]");
  if (!form) return;
  event.preventDefault();
  press(form.id);
});

// A goal is told as soon as it is reached. The next page counts what the server knows, so the next press waits for it.
const said = new Set();
let keeping;

function keep() {
  const goals = [...document.querySelectorAll("[data-unkept]")];
  if (goals.length) keeping = tell();
  const fresh = goals.filter((goal) => !said.has(goal.dataset.unkept));
  for (const goal of fresh) said.add(goal.dataset.unkept);
  return fresh.map((goal) => goal.querySelector("p").lastChild.textContent.trim());
}

// A play brings the moment alone; what the panel says about it follows here.
function follows() {
  const { step, total } = document.getElementById("moment").dataset;
  const behind = step !== total;
  document.getElementById("drive").classList.toggle("behind", behind);
  const note = document.getElementById("d-behind");
  if (!note) return;
  note.hidden = !behind;
  note.querySelector("b").textContent = step;
}

document.addEventListener("htmx:after:swap", () => {
  if (document.getElementById("drive")) follows();
  const titles = keep();
  if (titles.length) say(`Goal reached: ${titles.join(" ")}`);
});
keep();
