// The command palette: what can be done here first, then places. Takes story keys, ids, file names and names of pages.

import { dialog } from "./dialog.js";
import { sign, visible } from "./toast.js";

const SHOWN = 12;

let asked = 0;

/** What can be done on this page: its buttons, with the row they belong to. */
function actions() {
  const buttons = document.querySelectorAll("main button[data-url], main button[data-do]");
  return [...buttons].filter((button) => !button.disabled && button.offsetParent !== null).map((button) => {
    const row = button.closest("[data-item]");
    const own = [...button.childNodes].filter((node) => node.nodeName !== "KBD").map((node) => node.textContent).join("").trim();
    const text = row?.dataset.name ? `${own}: ${row.dataset.name}` : own;
    return { icon: button.dataset.icon ?? "play", text, right: button.dataset.key?.toUpperCase() ?? "", run: () => button.click() };
  });
}

function places() {
  const links = document.querySelectorAll("[data-place]");
  return [...links].map((link) => ({ icon: "flag", text: link.querySelector("span").textContent, right: link.dataset.place === "settings" ? "" : `g ${link.dataset.place[0]}`, run: () => location.assign(link.href) }));
}

async function found(text) {
  const mine = ++asked;
  const response = await fetch(`/find?q=${encodeURIComponent(text)}`, { credentials: "same-origin" }).catch(() => null);
  if (!response?.ok) return [];
  const { data } = await response.json();
  if (mine !== asked) return null;
  return data.map((one) => ({ icon: one.icon, text: one.text, right: one.right, run: () => location.assign(one.url) }));
}

function row(entry, text, nth) {
  const option = document.createElement("div");
  option.setAttribute("role", "option");
  option.id = `pal-${nth}`;
  option.setAttribute("aria-selected", "false");
  const words = document.createElement("bdi");
  const shown = visible(entry.text);
  const at = shown.toLowerCase().indexOf(text.toLowerCase());
  if (text && at >= 0) {
    const bold = document.createElement("b");
    bold.textContent = shown.slice(at, at + text.length);
    words.append(shown.slice(0, at), bold, shown.slice(at + text.length));
  } else words.textContent = shown;
  const right = document.createElement("span");
  right.className = "dim";
  right.textContent = entry.right ?? "";
  option.append(sign(entry.icon), words, right);
  return option;
}

export function openPalette() {
  if (document.querySelector("dialog.palette")) return;
  const element = dialog("Find or do", "palette");
  const top = document.createElement("div");
  top.className = "pal-in";
  const field = Object.assign(document.createElement("input"), { type: "text", autocomplete: "off", spellcheck: false, placeholder: "A story, a run, a prompt, a file, a page" });
  for (const [name, value] of [["role", "combobox"], ["aria-expanded", "true"], ["aria-controls", "pal-l"], ["aria-label", "Find or do"]]) field.setAttribute(name, value);
  const esc = Object.assign(document.createElement("kbd"), { textContent: "Esc" });
  top.append(sign("find"), field, esc);
  const list = Object.assign(document.createElement("div"), { id: "pal-l" });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Results");
  element.append(top, list);
  const all = { doing: actions(), going: places() };
  let entries = [];
  let at = 0;

  const choose = (to) => {
    const options = [...list.querySelectorAll("[role=option]")];
    at = Math.min(Math.max(to, 0), options.length - 1);
    options.forEach((option, nth) => option.setAttribute("aria-selected", String(nth === at)));
    if (options[at]) {
      field.setAttribute("aria-activedescendant", options[at].id);
      options[at].scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  };
  const take = (nth) => {
    const entry = entries[nth];
    if (!entry) return;
    element.close();
    entry.run();
  };
  const draw = (groups, text) => {
    list.replaceChildren();
    entries = [];
    for (const [name, some] of groups) {
      if (!some.length) continue;
      const group = document.createElement("div");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", name);
      const label = Object.assign(document.createElement("p"), { className: "label", textContent: name });
      label.setAttribute("aria-hidden", "true");
      group.append(label);
      for (const entry of some.slice(0, SHOWN)) {
        const nth = entries.push(entry) - 1;
        const option = row(entry, text, nth);
        option.addEventListener("click", () => take(nth));
        option.addEventListener("pointermove", () => { if (at !== nth) choose(nth); });
        group.append(option);
      }
      list.append(group);
    }
    if (!entries.length) {
      const nothing = Object.assign(document.createElement("p"), { className: "dim", textContent: `Nothing here is called “${visible(text)}”.` });
      nothing.setAttribute("role", "option");
      nothing.setAttribute("aria-disabled", "true");
      list.append(nothing);
    }
    choose(0);
  };
  const look = async () => {
    const text = field.value.trim();
    const fits = (entry) => entry.text.toLowerCase().includes(text.toLowerCase());
    const groups = [["Do", all.doing.filter(fits)], ["Go", all.going.filter(fits)]];
    draw(groups, text);
    if (!text) return;
    const more = await found(text);
    if (more && element.isConnected && field.value.trim() === text) draw([groups[0], ["Go", [...groups[1][1], ...more]]], text);
  };
  field.addEventListener("input", look);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (step) { event.preventDefault(); choose(at + step); }
    if (event.key === "Enter") { event.preventDefault(); take(at); }
  });
  look();
  element.showModal();
  field.focus();
}

export function startPalette() {
  document.querySelector("[data-open=palette]")?.addEventListener("click", openPalette);
}
