// The page Notes: the number of a line goes into the question "why not this?", and unsaved text is not lost silently.

import "./fragments.js";

const tree = document.getElementById("tree");
if (tree !== null && window.matchMedia("(min-width: 56rem)").matches) tree.open = true;

document.addEventListener("click", (event) => {
  const number = event.target.closest(".note .line");
  const field = document.getElementById("why-line");
  if (number !== null && field !== null) field.value = number.textContent;
});

const editor = document.getElementById("editor");
if (editor !== null) {
  const field = () => editor.querySelector("#text");
  let before = field().value;
  let isSaved = false;
  editor.addEventListener("leave", () => { isSaved = true; });
  editor.addEventListener("fragment", () => {
    before = field().value;
    const result = editor.querySelector("[role=alert], #changes");
    result.tabIndex = -1;
    result.focus(); // below a long text, nobody would see it
  });
  window.addEventListener("beforeunload", (event) => {
    if (!isSaved && (field().dataset.saved === "no" || field().value !== before)) event.preventDefault();
  });
}
