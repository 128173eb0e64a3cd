// Tells the server which section is open and where in it, so that the learner can go on there another day.
// A page that does not hear back works all the same.

const form = document.querySelector("form[data-seen]");
let told = null;

function tell() {
  const place = location.pathname + (location.search.length > 4000 ? "" : location.search);
  if (place === told) return;
  told = place;
  const body = new URLSearchParams({ place });
  // `keepalive`: the last word is sent while the page goes away.
  fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" }, keepalive: true }).catch(() => {});
}

if (form) {
  tell();
  addEventListener("visibilitychange", () => document.visibilityState === "hidden" && tell());
  addEventListener("pagehide", tell);
}
