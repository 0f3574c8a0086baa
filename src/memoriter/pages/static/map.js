// Opens the note of a passage that is clicked in the picture.

import "./fragments.js";

document.getElementById("picture").addEventListener("click", (event) => {
  const address = event.target.closest("circle")?.dataset.address;
  if (address !== undefined) window.location.assign(address);
});
