// The form over the settings: only what was changed is sent, with the fingerprint of the file that was seen.

import { ask } from "./api.js";
import { complain } from "./act.js";
import { showKeys } from "./keys.js";
import { refresh } from "./live.js";
import { toast } from "./toast.js";

const main = document.getElementById("main");

/** The value of a field as the file has it; null takes the setting away. */
function value(field) {
  const text = field.value.trim();
  const { kind } = field.dataset;
  if (kind === "list") {
    const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
    return lines.length ? lines : null;
  }
  if (text === "") return null;
  if ((kind === "number" || kind === "money") && Number.isFinite(Number(text))) return Number(text);
  return text;
}

const changed = (form) => [...form.elements].filter((field) => field.name && field.dataset.was !== undefined && field.value.trim() !== field.dataset.was);

async function save(form, body, said) {
  const url = form.dataset.settings ?? form.dataset.settingsText;
  const button = form.querySelector("[type=submit]");
  button.setAttribute("aria-busy", "true");
  const acts = form.querySelector(".set-acts");
  const before = acts.nextElementSibling;
  if (before?.matches("[role=alert]")) before.remove();
  try {
    await ask("PATCH", url, { hash: form.dataset.hash, ...body });
    toast(said);
    await refresh();
    for (const other of main.querySelectorAll("form")) if (other !== form) other.reset();
    tell(form);
  } catch (error) {
    complain(acts, error);
    // Somebody else has changed it: what was typed stays, and the next try is about the file as it is now.
    if (error.status === 412) await refresh();
  } finally {
    button.removeAttribute("aria-busy");
  }
}

function tell(form) {
  const note = form.querySelector("[data-changed]");
  if (!note) return;
  const count = changed(form).length;
  note.textContent = count ? `${count} changed` : "";
}

main.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-settings], [data-settings-text]");
  if (!form) return;
  event.preventDefault();
  if (form.dataset.settingsText) {
    save(form, { text: form.elements.text.value }, "Saved callsheet.toml");
    return;
  }
  const fields = changed(form);
  if (!fields.length) {
    toast("Nothing was changed");
    return;
  }
  const set = Object.fromEntries(fields.map((field) => [field.name, value(field)]));
  save(form, { set }, `Saved ${fields.length} setting${fields.length === 1 ? "" : "s"}`);
});

main.addEventListener("input", (event) => { if (event.target.form) tell(event.target.form); });
main.addEventListener("reset", (event) => setTimeout(() => tell(event.target)));

const keep = (name, text) => {
  try {
    if (text) localStorage.setItem(name, text);
    else localStorage.removeItem(name);
  } catch { /* Storage is off: it holds for this page. */ }
};
const kept = (name) => {
  try { return localStorage.getItem(name) ?? ""; } catch { return ""; }
};

for (const radio of main.querySelectorAll("[data-theme-choice]")) {
  radio.checked = radio.value === kept("callsheet.theme");
  radio.addEventListener("change", () => {
    keep("callsheet.theme", radio.value);
    if (radio.value) document.documentElement.dataset.theme = radio.value;
    else delete document.documentElement.dataset.theme;
  });
}

const keys = main.querySelector("[data-keys-choice]");
keys.checked = kept("callsheet.keys") !== "off";
keys.addEventListener("change", () => keep("callsheet.keys", keys.checked ? "" : "off"));
main.querySelector("[data-open-keys]").addEventListener("click", showKeys);
