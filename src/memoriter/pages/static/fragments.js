// Replaces parts of a page with fragments from the server, so that a page need not be loaded again.
//
//   <form data-fragment="ID">       sends the form, and replaces the content of the element ID with the answer
//   <form data-fragment data-live>  also sends it while someone types
//   <form … data-address>           (GET) also puts the parameters into the address bar
//   <a data-fragment="ID" href>     loads the address into the element ID
//   <details data-source="ADDRESS">  loads into its last element once, when it is opened
//
// Without this script, forms and links load whole pages, which have the same content.

const PAUSE_MS = 120;
const ENDED = "This session has ended. Run “memoriter serve --link”, open the link that it prints in another tab, and try again here.";
const SILENT = "The server does not answer. Is “memoriter serve” still running?";
const running = new Map(); // element -> the request whose answer it waits for
const later = new Map(); // element -> the form that was changed meanwhile

/**
 * Load a fragment into an element. The answer of an earlier request for the same element is dropped.
 *
 * If a form cannot be sent, the element keeps what someone typed, and a message above it says why.
 */
export async function load(target, address, options = {}) {
  running.get(target)?.abort();
  const request = new AbortController();
  running.set(target, request);
  target.setAttribute("aria-busy", "true");
  const isForm = options.method === "POST";
  const fail = (reason) => (isForm ? keep(target, reason) : target.replaceChildren(alertOf(reason)));
  const headers = { "Memoriter-Fragment": target.id || "part", ...(options.headers ?? {}) };
  try {
    const response = await fetch(address, { ...options, headers, signal: request.signal });
    const location = response.headers.get("Memoriter-Location");
    if (location !== null) {
      target.dispatchEvent(new CustomEvent("leave", { bubbles: true }));
      go(location);
      return;
    }
    const text = await response.text();
    if (running.get(target) !== request) return;
    if (!(response.headers.get("Content-Type") ?? "").startsWith("text/html")) {
      fail(response.status === 401 ? ENDED : `The server refused the request (status ${response.status}). ${isForm ? "" : "Load the page again."}`);
    } else if (isForm && response.headers.has("Memoriter-Problem")) {
      keep(target, parsed(text));
    } else {
      show(target, text);
    }
  } catch (error) {
    if (error.name !== "AbortError") fail(SILENT);
  } finally {
    if (running.get(target) === request) {
      running.delete(target);
      target.removeAttribute("aria-busy");
      sendLater(target);
    }
  }
}

/** Go to an address, and load the page again if only its anchor differs. */
export function go(address) {
  const next = new URL(address, window.location.href);
  const same = next.pathname === window.location.pathname && next.search === window.location.search;
  window.location.assign(next);
  if (same) window.location.reload();
}

/** Return the nodes of a fragment. Scripts in it do not run, and the server has escaped all text of the memory. */
function parsed(text) {
  const template = document.createElement("template");
  template.innerHTML = text;
  return template.content;
}

/** Replace the content of an element, and keep the focus and what is open where an element with the same id is. */
function show(target, text) {
  const content = parsed(text);
  for (const each of target.querySelectorAll("details[id][open]")) {
    const same = content.querySelector(`details#${CSS.escape(each.id)}`);
    if (same !== null) same.open = true;
  }
  const focused = target.contains(document.activeElement) ? document.activeElement.id : "";
  target.replaceChildren(content);
  if (focused !== "") document.getElementById(focused)?.focus();
  const state = target.querySelector("[role=status], [role=alert]");
  if (!("part" in target.dataset)) document.getElementById("spoken").textContent = state?.textContent.trim().replace(/\s+/g, " ") ?? "";
  target.dispatchEvent(new CustomEvent("fragment", { bubbles: true }));
}

/** Return a message about a failure. */
function alertOf(...parts) {
  const message = document.createElement("div");
  message.className = "problem";
  message.setAttribute("role", "alert");
  for (const part of parts) {
    const paragraph = document.createElement(typeof part === "string" ? "p" : "div");
    paragraph.append(part);
    message.append(paragraph);
  }
  return message;
}

/** Show above an element why a form was not sent, and leave the element as it is. */
function keep(target, reason) {
  for (const earlier of target.querySelectorAll(":scope > .unsent")) earlier.remove();
  const message = alertOf("This was not sent. What you typed is still here.", reason);
  if (typeof reason !== "string") message.removeAttribute("role"); // the reason has it
  message.classList.add("unsent");
  message.tabIndex = -1;
  target.prepend(message);
  message.focus();
}

/** Send a form, and load the answer into the element that it names. */
function send(form, submitter) {
  const target = document.getElementById(form.dataset.fragment);
  if (target === null) return false;
  const fields = new FormData(form, submitter);
  const body = new URLSearchParams([...fields].filter(([, value]) => typeof value === "string"));
  if (form.method === "post") {
    const texts = [...target.querySelectorAll("textarea:not([readonly])")];
    for (const each of texts) each.readOnly = true; // what is typed until the answer would be lost
    load(target, submitter?.getAttribute("formaction") ?? form.action, {
      method: "POST",
      body,
      headers: { "Memoriter-Request": "1" },
    }).finally(() => {
      for (const each of texts) each.readOnly = false;
    });
    return true;
  }
  for (const [name, value] of [...body]) if (value === "") body.delete(name);
  const address = new URL(form.action);
  address.search = body.toString();
  if ("address" in form.dataset) window.history.replaceState(null, "", address);
  load(target, address);
  return true;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.fragment !== undefined && send(form, event.submitter)) event.preventDefault();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-fragment]");
  if (link === null || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const target = document.getElementById(link.dataset.fragment);
  if (target === null) return;
  event.preventDefault();
  load(target, link.href);
});

document.addEventListener("toggle", (event) => {
  const details = event.target;
  const source = details.dataset?.source;
  if (source === undefined || !details.open) return;
  delete details.dataset.source;
  load(details.lastElementChild, source);
}, true);

let waiting;

/** Send the form that was changed while the element waited for an answer. */
function sendLater(target) {
  const form = later.get(target);
  later.delete(target);
  if (form?.isConnected) send(form);
}

// The first change is sent at once. What is typed while its answer is under way is sent all at once: after the answer,
// or after a pause, if the answer takes long.
// An input method, as for Chinese, Japanese and Korean, ends a composition without a further "input" in Chromium.
for (const name of ["input", "change", "compositionend"]) {
  document.addEventListener(name, (event) => {
    const form = event.target.form;
    if (form?.dataset?.live === undefined || event.isComposing) return;
    const target = document.getElementById(form.dataset.fragment);
    if (!running.has(target)) {
      send(form);
      return;
    }
    later.set(target, form);
    clearTimeout(waiting);
    waiting = setTimeout(() => sendLater(target), PAUSE_MS);
  });
}

// What was typed into a search box before this script was there is sent now.
for (const form of document.querySelectorAll("form[data-live]")) {
  const question = form.elements.q;
  if (question !== undefined && question.value !== question.defaultValue) send(form);
}
