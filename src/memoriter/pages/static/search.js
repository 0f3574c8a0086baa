// Keys of the page Search: "/" goes to the question, the arrows go through the hits, Escape goes back.

const question = document.getElementById("question");
const typing = (element) => element.matches("input:not([type=checkbox]), textarea, select");

document.addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
  const here = document.activeElement;
  if (event.key === "/" && !typing(here)) {
    event.preventDefault();
    question.focus();
    question.select();
    return;
  }
  const hits = [...document.querySelectorAll("#results a.hit")];
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
