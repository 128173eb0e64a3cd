// What makes the pages smooth. Every page works without this file: links and forms do the same by reloading.

import "./progress.js";

const $ = (selector) => document.querySelector(selector);
const moment = () => $("#moment");
document.documentElement.classList.add("js");

// Steps. The links are followed from here and not by attributes of their own: those change with every step, and
// while htmx sets an element up anew a quick second press would leave the page.
// The step and the play or pause that were last asked for: a key held down is faster than the answers.
let wanted = null;
let playing = null;

function go(address, move = 0, toggle = false) {
  const url = new URL(address, location.href);
  const { step, total } = moment().dataset;
  if (move) url.searchParams.set("step", Math.min(Math.max((wanted ?? Number(step)) + move, 1), Number(total)));
  wanted = move ? Number(url.searchParams.get("step")) : null;
  if (toggle && playing !== null) {
    if (playing) url.searchParams.delete("play");
    else url.searchParams.set("play", "1");
  }
  playing = toggle ? url.searchParams.has("play") : null;
  htmx.ajax("GET", url.pathname + url.search, { source: $("#run"), target: $("#run") });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-go]");
  if (!link || !moment() || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.href.baseVal ?? link.href, Number(link.dataset.move ?? 0), link.id === "t-play");
});

let sliding = null;
for (const kind of ["input", "change", "submit"]) {
  document.addEventListener(kind, (event) => {
    const form = event.target.closest("form[data-go]");
    if (!form) return;
    if (kind === "submit") event.preventDefault();
    const follow = () => {
      sliding = null;
      const query = new URLSearchParams(new FormData($(`#${form.id}`)));
      go(`${form.getAttribute("action")}?${query}`);
    };
    // A thumb that is drawn along asks for a step now and then, not for each one it passes.
    if (kind === "input") sliding ??= setTimeout(follow, 60);
    else if (!sliding) follow();
  });
}

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  const now = moment();
  if (ctx?.response?.status === 400) { // the whole page is another one now
    scrollTo(0, 0);
    $("#main").focus({ preventScroll: true });
  }
  if (!now) return;
  // The form is below the run: whoever pressed its button would see and hear nothing of the new one.
  if (ctx?.sourceElement?.closest("#parameters")) {
    say(`The run has changed. It has ${now.dataset.total} steps.`);
    now.scrollIntoView();
    $("#transport").focus({ preventScroll: true });
  }
  if (wanted === Number(now.dataset.step)) wanted = null;
  if (playing === Boolean($(".tape"))) playing = null;
  // What a person has moved or chosen is a property of the control by now; the page only sets the attribute.
  for (const control of sliding ? [] : document.querySelectorAll("#step, #pace")) {
    if (control.matches("input")) control.value = control.getAttribute("value");
    else for (const option of control.options) option.selected = option.defaultSelected;
  }
  if ($(".tape")) history.replaceState(null, "", now.dataset.address);
  keepInView();
});

// The marked line of a listing and the last printed line stay in view; the page itself never scrolls.
function keepInView() {
  for (const listing of document.querySelectorAll(".moment .source")) {
    const lines = listing.querySelectorAll(".line");
    const line = [...lines].find((one) => one.dataset.line === listing.dataset.keep);
    if (!line) continue;
    const top = line.getBoundingClientRect().top - listing.getBoundingClientRect().top + listing.scrollTop;
    if (top < listing.scrollTop + 24 || top > listing.scrollTop + listing.clientHeight - 48) {
      listing.scrollTop = top - listing.clientHeight / 2;
    }
  }
  for (const list of document.querySelectorAll("#log, .effects ol")) list.scrollTop = list.scrollHeight;
}

// Keys
const SCROLLING = ["Space", "PageDown", "PageUp", "Home", "End"];
const presenting = () => document.body.classList.contains("present");
const typing = (target) => target.closest("input:not([type=range]), select, textarea, [contenteditable], dialog[open]");
function runInView() {
  if (presenting()) return true;
  const run = $("#run")?.getBoundingClientRect();
  return run && run.top < innerHeight * 0.6 && run.bottom > innerHeight * 0.4;
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || !$("#run")) return;
  if (event.key === "?") return $("#keys").showModal();
  const key = event.key === " " ? "Space" : event.key;
  const link = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key.split(" ").includes(key));
  if (!link || !runInView()) return;
  // The keys that scroll a page, press a button or move a slider keep doing so where that is what is meant.
  if (SCROLLING.includes(key) && !presenting() && !event.target.closest("#transport a")) return;
  if (key === "Space" && event.target.closest("a:not([data-go]), button, summary")) return;
  if (key.length > 1 && event.target.matches("input[type=range]")) return;
  const box = event.target.closest(".scroll, .source, .lines, .plain, .detail");
  if (key.startsWith("Arrow") && !presenting() && box?.scrollWidth > box?.clientWidth) return;
  event.preventDefault();
  link.click();
});

// Small things
export function say(text) {
  const status = $("#status");
  if (status) status.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => status && (status.textContent = ""), 4000);
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-copy]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  try {
    await navigator.clipboard.writeText(link.href);
    say("The link to this step is copied.");
  } catch {
    prompt("The link to this step:", link.href);
  }
});

// A form's address says only what differs from the defaults.
document.addEventListener("formdata", ({ target, formData }) => {
  for (const control of target.querySelectorAll("[data-default]")) {
    if (control.value.trim() === control.dataset.default) formData.delete(control.name);
  }
});

// An answer that says what is wrong is a page of its own: go and show it, where the form does not say where it goes.
const shownHere = (source, status) => status === 400 && source?.hasAttribute("hx-status:400");
document.addEventListener("htmx:response:error", ({ detail: { ctx } }) => {
  wanted = playing = null;
  if (shownHere(ctx.sourceElement, ctx.response.status)) return;
  if (ctx.response.status < 500 && !ctx.sourceElement.matches(".tape")) location.assign(ctx.request.action);
  else say("The server had a problem. Please try again.");
});
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  wanted = playing = null;
  if (ctx && !ctx.sourceElement.matches(".tape")) say("The server does not answer. Please try again.");
});
// The page stays where it is, so its address stays too.
document.addEventListener("htmx:before:history:update", (event) => {
  const { response, sourceElement } = event.detail;
  if (response.status >= 400 && !shownHere(sourceElement, response.status)) event.preventDefault();
});

keepInView();

// On the way through a quiz the keyboard goes on at the question or at the score, past the links above it.
const ahead = $(".quiz-answer") ? $("#ask") : $(".score");
if (ahead && document.referrer.startsWith(`${location.origin}/quiz`)) {
  ahead.tabIndex = -1;
  ahead.focus({ preventScroll: true });
}
