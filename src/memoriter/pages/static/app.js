// What every page does: keys that work everywhere, menus that close, and the dot of the header with its sentence.

import { load } from "./fragments.js";

const RENEW_MS = 15_000;
const question = document.getElementById("question");
const frame = document.getElementById("frame");

/** Whether keys are text there, or belong to a control. */
export const typing = (element) => element?.matches("input:not([type=checkbox]), textarea, select, [contenteditable]") ?? false;

/** Whether a key is a shortcut: not part of a composition of an input method, nor of a text. */
export const isShortcut = (event) =>
  !(event.isComposing || event.keyCode === 229 || event.metaKey || event.ctrlKey || event.altKey || typing(event.target));

/** Open a menu and go to its first control. */
export function openMenu(id) {
  const menu = document.getElementById(id);
  if (menu === null) return;
  menu.open = true;
  menu.querySelector(".sheet :is(textarea, a, button, input:not([type=hidden]))")?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return;
  const isSearch = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  if (isSearch || (event.key === "/" && isShortcut(event))) {
    event.preventDefault();
    question.focus();
    question.select();
  } else if (event.key === "n" && isShortcut(event)) {
    event.preventDefault();
    openMenu("new");
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
    event.preventDefault();
    event.target.form?.requestSubmit();
  } else if (event.key === "Escape") {
    const menu = event.target.closest?.("details.menu[open]") ?? document.querySelector("details.menu[open]");
    if (menu !== null) {
      menu.open = false;
      menu.querySelector("summary").focus();
    } else if (event.target === question) {
      event.preventDefault(); // the browser would empty the box
      question.blur();
    }
  }
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  const sheet = event.target.closest?.(".menu > .acts");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!sheet || step === undefined) return;
  event.preventDefault();
  const items = [...sheet.querySelectorAll("a, button")];
  items[(items.indexOf(event.target) + step + items.length) % items.length].focus();
});

// A control that names its key, such as that of the history of a note. A field beside it gets the focus.
document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("details textarea");
  if (event.key === "Escape" && field) field.blur();
  const control = isShortcut(event) ? document.querySelector(`[data-key="${CSS.escape(event.key)}"]`) : null;
  if (control === null) return;
  event.preventDefault();
  control.click();
  control.parentElement.querySelector("textarea")?.focus();
});

frame.addEventListener("fragment", () => {
  for (const badge of document.querySelectorAll("header nav .count")) badge.remove();
  for (const each of frame.querySelectorAll("[data-waiting]")) {
    const link = document.querySelector(`header nav a[href="${each.dataset.waiting}"]`);
    const badge = document.createElement("span");
    badge.className = "count";
    badge.textContent = each.textContent;
    badge.title = "wait for your decision";
    link?.append(badge);
  }
});

/** Load the parts of a page that take longer; they are not read aloud. */
export function loadParts(within = document) {
  for (const part of within.querySelectorAll("[data-load]")) {
    const address = part.dataset.load;
    delete part.dataset.load;
    part.dataset.part = "";
    load(part, address);
  }
}

const frameAddress = frame.dataset.load;

/** Load the dot and the numbers in the navigation again. */
export const renewFrame = () => load(frame, frameAddress);

loadParts();
setInterval(() => {
  const isBusy = frame.querySelector(".dot.is-good") === null;
  if (isBusy && document.visibilityState === "visible") renewFrame();
}, RENEW_MS);
