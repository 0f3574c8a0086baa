// A note: keys, the line that is meant, editing in its place, and text that is not lost silently.

import { isShortcut, loadParts, openMenu } from "./app.js";
import { go, load } from "./fragments.js";

const article = document.getElementById("article");
const field = () => article.querySelector("#text");
let before = field()?.value;
let isSaved = false;

/** Return the number of the line that is meant: the one of the address, or else the first one in view. */
function lineHere() {
  const named = /^#L(\d+)$/.exec(window.location.hash);
  if (named !== null) return named[1];
  const top = document.querySelector("header").offsetHeight;
  const seen = [...article.querySelectorAll(".note .line")].find((each) => each.getBoundingClientRect().top >= top);
  return seen === undefined || window.scrollY === 0 ? "1" : seen.textContent;
}

/** Open the editor in the place of the note, at a line. */
function edit(line) {
  const link = document.getElementById("edit");
  if (link === null) return;
  const address = new URL(link.href);
  address.searchParams.set("line", line);
  load(article, address);
}

/** Put the caret at the line that was meant, and the line into view. */
function placeCaret() {
  const text = field();
  const line = Number(text.dataset.line) || 1;
  const start = text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  window.scrollTo(0, 0);
  text.focus();
  text.setSelectionRange(start, start);
  const height = Number.parseFloat(getComputedStyle(text).lineHeight);
  text.scrollTop = Math.max(0, (line - 4) * height);
}

article.addEventListener("click", (event) => {
  const number = event.target.closest(".note .line");
  if (number === null || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (document.getElementById("edit") === null) return;
  event.preventDefault();
  edit(number.textContent);
});

article.addEventListener("click", (event) => {
  const link = event.target.closest("#cancel");
  if (link === null || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.href); // the note may be at the same address as its editor
});

article.addEventListener("click", (event) => {
  const link = event.target.closest("#edit");
  if (link === null || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  edit(lineHere());
});

document.addEventListener("toggle", (event) => {
  if (event.target.id !== "more-of-note") return;
  for (const link of article.querySelectorAll("[data-with-line]")) {
    const address = new URL(link.href);
    if (window.location.hash.startsWith("#L")) address.searchParams.set(link.dataset.withLine, lineHere());
    link.href = address;
  }
}, true);

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "s" && (event.ctrlKey || event.metaKey) && field() !== null) {
    event.preventDefault();
    const button = article.querySelector(".edit button.main");
    button.form.requestSubmit(button);
  } else if (isShortcut(event) && event.key === "e") {
    event.preventDefault();
    edit(lineHere());
  } else if (isShortcut(event) && event.key === ".") {
    event.preventDefault();
    openMenu("more-of-note");
  }
});

article.addEventListener("leave", () => { isSaved = true; });
article.addEventListener("fragment", (event) => {
  if (event.target !== article) return;
  loadParts(article);
  before = field()?.value;
  const problem = article.querySelector("[role=alert]");
  if (problem !== null) {
    problem.tabIndex = -1;
    problem.focus(); // beside a long text, nobody would see it
    problem.scrollIntoView({ block: "center" });
  } else if (field() !== null) placeCaret();
});
window.addEventListener("beforeunload", (event) => {
  const text = field();
  if (text !== null && !isSaved && (text.dataset.saved === "no" || text.value !== before)) event.preventDefault();
});
for (const line of article.querySelectorAll(".note .line")) {
  line.title = `Line ${line.textContent}: edit here`;
  line.dir = "ltr";
}
document.getElementById("undo")?.focus();
if (field() !== null) placeCaret();
