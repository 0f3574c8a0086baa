// Shows the progress of indexing while it happens, reloads the state when something changed, and copies commands.

import { load } from "./fragments.js";

const STAGES = { read: "Reading notes", embed: "Computing vectors", download: "Downloading the model" };
const CHANGES = ["indexed", "changed", "idle", "reset", "trouble", "recovered", "missing"];
const PAUSE_MS = 300;
const RETRY_MS = 2_000;
const state = document.getElementById("state");
const work = document.getElementById("work");
const silent = document.getElementById("silent");
let events = null;
let waiting;
let retry;
let isOld = false; // the server does not answer, so the page shows an earlier state
let loadedAt = new Date();

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
    if (!isOld && state.getAttribute("aria-busy") !== "true") load(state, state.dataset.address);
  }, PAUSE_MS);
}

/** Follow the events while the page is visible: a browser has only six connections for all of its tabs. */
function follow() {
  clearTimeout(retry);
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
  events.addEventListener("open", () => {
    if (!isOld) return;
    isOld = false;
    silent.hidden = true;
    reload();
  });
  events.addEventListener("error", lose);
}

/** After the stream of events has broken, ask why, say that the figures are old, and try again. */
async function lose() {
  events?.close();
  events = null;
  retry = setTimeout(follow, RETRY_MS);
  let sentence = "The server does not answer. Is “memoriter serve” still running?";
  try {
    const { ok, status } = await fetch(state.dataset.probe, { cache: "no-store" });
    if (ok) return; // only the stream was refused, such as because too many clients follow it
    sentence = status === 401
      ? "This session has ended. Run “memoriter serve --link”, and open the link that it prints in another tab."
      : `The server refuses requests (status ${status}).`;
  } catch {
    // No answer at all.
  }
  const time = loadedAt.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const text = `${sentence} The figures below are old: they are of ${time}. This page tries again by itself.`;
  if (silent.textContent !== text) silent.textContent = text; // a screen reader reads it once
  const summary = document.getElementById("summary");
  if (summary !== null) summary.textContent = `State at ${time}`;
  work.hidden = true;
  silent.hidden = false;
  isOld = true;
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
  loadedAt = new Date();
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
