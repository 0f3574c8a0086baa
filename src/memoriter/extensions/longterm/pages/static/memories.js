// A slider over the days since the first memory, which sets the date beside it.

const DAY_MS = 86_400_000;
const slider = document.getElementById("slider");
const date = document.getElementById(slider?.dataset.date ?? "");
const first = Date.parse(slider?.dataset.first ?? "");
const last = Math.floor(Date.now() / DAY_MS) * DAY_MS;

/** Return a day as the date field has it. */
const written = (number) => new Date(first + number * DAY_MS).toISOString().slice(0, 10);

/** Let the slider show the date; no date is the last day. */
function follow() {
  const at = Date.parse(date.value);
  slider.value = Number.isNaN(at) ? slider.max : Math.round((at - first) / DAY_MS);
  slider.setAttribute("aria-valuetext", date.value || "now");
}

if (date !== null && !Number.isNaN(first) && last > first) {
  slider.min = 0;
  slider.max = (last - first) / DAY_MS;
  follow();
  slider.closest("[hidden]").hidden = false;
  slider.addEventListener("input", () => {
    date.value = slider.value === slider.max ? "" : written(Number(slider.value));
    slider.setAttribute("aria-valuetext", date.value || "now");
  });
  date.addEventListener("input", follow);
}
