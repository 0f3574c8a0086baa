// Arrow keys move between the days of the calendar; only one of them is in the order of the Tab key.

import { loadParts } from "./app.js";

const calendar = document.querySelector("[data-days]");
const days = [...(calendar?.querySelectorAll("a[data-day]") ?? [])].sort((one, other) => (one.dataset.day < other.dataset.day ? -1 : 1));

/** Put one day into the order of the Tab key. */
function reach(day) {
  for (const each of days) each.tabIndex = each === day ? 0 : -1;
}

/** Return the day with notes that is next to a date, at least so many days away. */
function beside(date, distance) {
  const wanted = Date.parse(date) + distance * 86_400_000;
  return distance > 0
    ? days.find((each) => Date.parse(each.dataset.day) >= wanted)
    : days.findLast((each) => Date.parse(each.dataset.day) <= wanted);
}

if (days.length > 0) reach(days.find((each) => each.hasAttribute("aria-current")) ?? days.at(-1));

calendar?.addEventListener("keydown", (event) => {
  const day = event.target.closest("a[data-day]");
  if (day === null || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = {
    ArrowLeft: () => beside(day.dataset.day, -1),
    ArrowRight: () => beside(day.dataset.day, 1),
    ArrowUp: () => beside(day.dataset.day, -7),
    ArrowDown: () => beside(day.dataset.day, 7),
    Home: () => days[0],
    End: () => days.at(-1),
  }[event.key]?.();
  if (next === undefined) return;
  event.preventDefault();
  next.closest("details").open = true;
  reach(next);
  next.focus();
});

document.addEventListener("click", (event) => {
  const chosen = event.target.closest("a[data-day]");
  if (chosen === null) return;
  for (const each of document.querySelectorAll("aside a[data-day]")) {
    if (each.dataset.day === chosen.dataset.day) each.setAttribute("aria-current", "date");
    else each.removeAttribute("aria-current");
  }
  const inCalendar = days.find((each) => each.dataset.day === chosen.dataset.day);
  if (inCalendar !== undefined) {
    inCalendar.closest("details").open = true;
    reach(inCalendar);
  }
  window.history.replaceState(null, "", chosen.href);
});

document.getElementById("day")?.addEventListener("fragment", (event) => {
  if (event.target !== event.currentTarget) return;
  loadParts(event.target);
  event.target.focus(); // as a link to the anchor would do without this script
});
