// Tells the server which chapter is open and where in it, so that the learner can go on there another day, and that
// it was seen once its end came into view. A page that does not hear back works all the same.

const form = document.querySelector("form[data-place]");
const PATIENCE_MS = 3_000;
let ended = false;
let told = null;
let sent = Promise.resolve();

// Gives a promise that is kept once the server knows the place, or could not be told in a while; then it is told anew.
export function tell() {
  if (!form?.isConnected) return sent; // an answer that says what is wrong took the chapter's place
  const place = location.pathname + (location.search.length > 4000 ? "" : location.search);
  const address = ended ? form.action : form.dataset.place;
  if (told === address + place) return sent;
  told = address + place;
  const body = new URLSearchParams({ place });
  // One after the other: a new learner is known only by the cookie of the first answer.
  // `keepalive`: the last word is sent while the page goes away.
  const send = async () => {
    const [headers, signal] = [{ Accept: "application/json" }, AbortSignal.timeout(PATIENCE_MS)];
    const response = await fetch(address, { method: "POST", body, headers, signal, keepalive: true });
    if (!response.ok || !(await response.json()).kept) throw new Error("not kept");
  };
  const again = () => {
    if (told === address + place) told = null;
  };
  return (sent = sent.then(send).catch(again));
}

if (form) {
  new IntersectionObserver((entries) => {
    ended ||= entries.some((entry) => entry.isIntersecting);
    tell();
  }).observe(document.querySelector("#onward"));
  addEventListener("visibilitychange", () => document.visibilityState === "hidden" && tell());
  addEventListener("pagehide", tell);
}
