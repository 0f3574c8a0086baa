// The page Notes: the number of a line goes into the question "why not this?", and unsaved text is not lost silently.

const tree = document.getElementById("tree");
if (tree !== null && window.matchMedia("(min-width: 56rem)").matches) tree.open = true;

document.addEventListener("click", (event) => {
  const number = event.target.closest(".note .line");
  const field = document.getElementById("why-line");
  if (number !== null && field !== null) field.value = number.textContent;
});

const text = document.querySelector("form[data-guard] textarea");
if (text !== null) {
  const before = text.value;
  let sent = false;
  text.form.addEventListener("submit", () => { sent = true; });
  window.addEventListener("beforeunload", (event) => {
    if (!sent && (text.dataset.saved === "no" || text.value !== before)) event.preventDefault();
  });
}
