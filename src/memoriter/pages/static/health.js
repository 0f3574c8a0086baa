// Shows the progress of indexing while it happens, reloads the state when something changed, and copies commands.

import { load } from "./fragments.js";

const STAGES = { read: "Reading notes", embed: "Computing vectors", download: "Downloading the model" };
const CHANGES = ["indexed", "changed", "idle", "reset", "trouble", "recovered", "missing"];
const PAUSE_MS = 300;
const state = document.getElementById("state");
const work = document.getElementById("work");
let events = null;
let waiting;

function tell(sentence) {
  document.getElementById("told").textContent = sentence;
}

function progress({ stage, done, total }) {
  if (work.hidden) tell("Indexing has started.");
  work.hidden = false;
  const name = STAGES[stage] ?? stage;
  document.getElementById("stage").textContent = name;
  const bar = document.getElementById("progress");
  if (total > 0) {
    bar.max = total;
    bar.value = done;
    document.getElementById("share").textContent = `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`;
  } else {
    bar.removeAttribute("value");
    document.getElementById("share").textContent = "";
  }
}

/** Load the state again, unless an action is under way, whose answer has it. */
function reload() {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (state.getAttribute("aria-busy") !== "true") load(state, state.dataset.address);
  }, PAUSE_MS);
}

/** Follow the events while the page is visible: a browser has only six connections for all of its tabs. */
function follow() {
  if (document.visibilityState === "hidden") {
    events?.close();
    events = null;
    return;
  }
  if (events !== null) return;
  events = new EventSource(state.dataset.events);
  events.addEventListener("progress", (event) => progress(JSON.parse(event.data)));
  events.addEventListener("idle", () => {
    work.hidden = true;
    tell("Indexing has ended.");
  });
  for (const name of CHANGES) events.addEventListener(name, reload);
}

function offerCopies() {
  for (const button of state.querySelectorAll("button[data-copy]")) button.hidden = false;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button === null) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    tell(`Copied: ${button.dataset.copy}`);
    button.firstChild.textContent = "Copied";
  } catch {
    tell("The browser does not allow copying. Select the command instead.");
  }
});

state.addEventListener("fragment", () => {
  offerCopies();
  const outcome = state.querySelector("#outcome");
  if (outcome !== null) {
    document.getElementById("done").replaceChildren(outcome); // the next change loads the state again, and not this
    outcome.tabIndex = -1;
    outcome.focus(); // the button that was pressed may be gone
  }
});
document.addEventListener("visibilitychange", () => {
  follow();
  if (document.visibilityState === "visible") reload();
});
window.addEventListener("pagehide", () => events?.close());
offerCopies();
follow();
