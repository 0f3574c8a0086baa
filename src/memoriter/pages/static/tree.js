// The tree of notes is one stop of the Tab key; the arrow keys move in it. On a wide screen, its pane is open.

const pane = document.getElementById("pane") ?? document.createElement("details"); // an empty memory has no tree
const wide = window.matchMedia("(min-width: 52rem)");
const follow = () => { if (wide.matches) pane.open = true; };
follow();
wide.addEventListener("change", follow);

const items = (tree) => [...tree.querySelectorAll("a, summary")].filter((each) => each.checkVisibility());

/** Put one item into the order of the Tab key: the open note, or the one that had the focus. */
function reach(tree, wanted) {
  const all = [...tree.querySelectorAll("a, summary")];
  const chosen = wanted ?? tree.querySelector("[aria-current=page]") ?? all[0];
  for (const each of all) each.tabIndex = each === chosen ? 0 : -1;
}

function begin() {
  const tree = pane.querySelector(".tree");
  if (tree === null) return;
  reach(tree);
  const aside = pane.closest("aside");
  const current = tree.querySelector("[aria-current=page]");
  if (current !== null && aside.scrollHeight > aside.clientHeight) {
    aside.scrollTop += current.getBoundingClientRect().top - aside.getBoundingClientRect().top - aside.clientHeight / 2;
  }
}

pane.addEventListener("keydown", (event) => {
  const tree = event.target.closest(".tree");
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (tree === null) {
    if (event.key === "ArrowDown" && event.target.id === "filter") {
      event.preventDefault();
      pane.querySelector(".tree [tabindex='0']")?.focus();
    }
    return;
  }
  const all = items(tree);
  const here = event.target;
  const at = all.indexOf(here);
  const folder = here.matches("summary") ? here.parentElement : null;
  const above = here.parentElement.closest("ul")?.closest("details")?.querySelector("summary");
  let next;
  if (event.key === "ArrowDown") next = all[at + 1];
  else if (event.key === "ArrowUp") next = all[at - 1];
  else if (event.key === "Home") next = all[0];
  else if (event.key === "End") next = all.at(-1);
  else if (event.key === "ArrowRight" && folder !== null) {
    if (folder.open) next = all[at + 1];
    else folder.open = true;
  } else if (event.key === "ArrowLeft") {
    if (folder?.open) folder.open = false;
    else next = (folder ?? here).parentElement.closest("details")?.querySelector("summary") ?? above;
  } else return;
  event.preventDefault();
  if (next) {
    reach(tree, next);
    next.focus();
  }
});

let wasInTree = false;
document.addEventListener("focusin", (event) => { wasInTree = event.target.closest("#found .tree") !== null; });

pane.addEventListener("fragment", (event) => {
  const tree = pane.querySelector(".tree");
  if (event.target.id === "found") {
    begin();
    if (wasInTree && document.activeElement === document.body) tree?.querySelector("[tabindex='0']")?.focus();
  }
  else if (tree?.contains(event.target)) {
    for (const each of event.target.querySelectorAll("a, summary")) each.tabIndex = -1;
  }
});
begin();
