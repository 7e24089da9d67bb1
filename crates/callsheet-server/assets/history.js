// Filters apply as soon as they are chosen; without this the button does it. The table of the plot opens by its link.

const form = document.querySelector("[data-filters]");

form?.addEventListener("change", (event) => {
  if (event.target.matches("select")) form.requestSubmit();
});

// An address says only what is set.
form?.addEventListener("submit", () => {
  for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
});

addEventListener("pageshow", () => {
  for (const field of form?.elements ?? []) field.disabled = false;
});

document.addEventListener("click", (event) => {
  if (event.target.closest("a[href='#table']")) document.getElementById("table").open = true;
});
