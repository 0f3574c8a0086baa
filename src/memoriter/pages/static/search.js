// Arrow keys go through the hits; on a wide screen, the pane beside them shows the note of the hit.

import { load } from "./fragments.js";

const PAUSE_MS = 150;
const AGAIN_MS = 2_000;
const question = document.getElementById("question");
const results = document.getElementById("results");
const preview = document.getElementById("preview");
const wide = window.matchMedia("(min-width: 75rem)");
let shown = "";
let waiting;

/** Show the note of a hit at its line. */
function show(hit) {
  clearTimeout(waiting);
  const address = hit?.dataset.preview;
  if (!wide.matches || address === shown) return;
  shown = address ?? "";
  preview.hidden = address === undefined;
  if (address !== undefined) waiting = setTimeout(() => load(preview, address), PAUSE_MS);
}

preview.addEventListener("fragment", () => {
  const line = preview.querySelector(".answer") ?? preview.querySelector(".row[id]");
  preview.scrollTop = line === null ? 0 : line.getBoundingClientRect().top - preview.getBoundingClientRect().top - 120;
});

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229 || event.metaKey || event.ctrlKey || event.altKey) return;
  const hits = [...results.querySelectorAll("a.hit")].filter((each) => each.checkVisibility());
  const here = document.activeElement;
  const at = hits.indexOf(here);
  if (here !== question && at < 0) return;
  if (event.key === "ArrowDown" && hits.length > 0) {
    event.preventDefault();
    hits[Math.min(at + 1, hits.length - 1)].focus();
  } else if (event.key === "ArrowUp" && at >= 0) {
    event.preventDefault();
    (hits[at - 1] ?? question).focus();
  } else if (event.key === "Escape" && at >= 0) {
    question.focus();
  }
});

results.addEventListener("focusin", (event) => {
  const hit = event.target.closest("a.hit");
  if (hit !== null) show(hit);
});

/** Show the note of the first hit in view. */
function showFirst() {
  show([...results.querySelectorAll("a.hit")].find((each) => each.checkVisibility()));
}

results.addEventListener("fragment", showFirst);

// While notes are indexed, the page says how many can be asked already.
results.addEventListener("fragment", (event) => {
  const ready = event.target;
  if (ready.id !== "ready" || ready.querySelector("[data-more]") === null) return;
  setTimeout(() => { if (ready.isConnected) load(ready, "/status/ready"); }, AGAIN_MS);
});
wide.addEventListener("change", showFirst);
showFirst();
if (results.querySelector("a.hit") !== null && document.activeElement === document.body) question.focus({ preventScroll: true });
