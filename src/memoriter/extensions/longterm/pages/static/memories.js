// Keys that decide about statements, and a slider over the days since the first memory, which sets the date beside it.

import { isShortcut, renewFrame } from "./app.js";
import { load } from "./fragments.js";

const inbox = document.getElementById("inbox");
const cards = () => [...inbox.querySelectorAll(".candidate")];
let place = 0; // of the statement that the keys are about

/** Press a button of the statement that has the focus, or of the first one. */
function press(name) {
  const all = cards();
  const card = document.activeElement.closest?.(".candidate") ?? all[0];
  place = Math.max(0, all.indexOf(card));
  card?.querySelector(`button[value^="${name}:"]`)?.click();
}

document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.(".candidate textarea");
  if (event.key === "Escape" && field) field.closest(".candidate").focus();
  if (!isShortcut(event)) return;
  const all = cards();
  const at = all.indexOf(document.activeElement.closest(".candidate"));
  const acts = {
    j: () => all[Math.min(at + 1, all.length - 1)]?.focus(),
    k: () => all[Math.max(at - 1, 0)]?.focus(),
    a: () => press("accept"),
    r: () => press("reject"),
    u: () => inbox.querySelector('#outcome button[value^="undo:"]')?.click(),
    e: () => {
      const text = (all[at] ?? all[0])?.querySelector("textarea");
      text?.focus();
      text?.setSelectionRange(text.value.length, text.value.length);
    },
  };
  if (!(event.key in acts)) return;
  event.preventDefault();
  acts[event.key]();
});

// After a decision its card is gone: the next one has the focus, or what was done if there is none.
inbox.addEventListener("fragment", () => {
  renewFrame();
  const list = document.getElementById("memories");
  if (list !== null) load(list, window.location.href);
  if (document.activeElement !== document.body) return;
  const all = cards();
  const isProblem = inbox.querySelector("#outcome [role=alert]") !== null;
  (isProblem || all.length === 0 ? document.getElementById("outcome") : all[Math.min(place, all.length - 1)])?.focus();
});

const DAY_MS = 86_400_000;
const slider = document.getElementById("slider");
const date = document.getElementById(slider?.dataset.date ?? "");
const first = Date.parse(slider?.dataset.first ?? "");
const last = Math.floor(Date.now() / DAY_MS) * DAY_MS;

/** Return a day as the date field has it. */
const written = (number) => new Date(first + number * DAY_MS).toISOString().slice(0, 10);

/** Let the slider show the date; no date is the last day. */
function follow() {
  const at = Date.parse(date.value);
  slider.value = Number.isNaN(at) ? slider.max : Math.round((at - first) / DAY_MS);
  slider.setAttribute("aria-valuetext", date.value || "now");
}

if (date !== null && !Number.isNaN(first) && last > first) {
  slider.min = 0;
  slider.max = (last - first) / DAY_MS;
  follow();
  slider.closest("[hidden]").hidden = false;
  slider.addEventListener("input", () => {
    date.value = slider.value === slider.max ? "" : written(Number(slider.value));
    slider.setAttribute("aria-valuetext", date.value || "now");
  });
  date.addEventListener("input", follow);
}
