// After a decision its button is gone, so the focus moves to what was done, which a screen reader then reads.

document.getElementById("inbox")?.addEventListener("fragment", () => {
  if (document.activeElement === document.body) document.getElementById("outcome")?.focus();
});
