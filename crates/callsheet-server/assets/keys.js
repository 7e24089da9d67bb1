// Keys. Single keys are off while a field has the focus, and where the reader has switched them off.

import { dialog } from "./dialog.js";
import { openPalette } from "./palette.js";
import { undoLast } from "./toast.js";

const PLACES = { a: "/", s: "/sprint", r: "/runs", p: "/prompts", c: "/compose", h: "/history", l: "/limits" };

/** What `?` shows: where, then pairs of keys and what they do. */
const SHOWN = [
  ["", "Everywhere", [["?", "these keys"], ["Ctrl K", "find or do"], ["/", "search on the page"], ["g, then a s r p c h l", "go to a page"], ["Esc", "close, back"], ["u", "undo"]]],
  ["", "Lists and tables", [["j k ↑ ↓", "move"], ["Enter", "open"], ["x", "mark"], ["d", "compare two marked"]]],
  ["attention", "Attention", [["a", "approve or answer"], ["r", "reject"], ["t", "retry with facts"], ["m", "merge"]]],
  ["sprint", "Sprint", [["← ↑ → ↓", "move between cards"], ["m", "set the state"], ["s", "stop after this cycle"]]],
  ["runs", "Run", [["f", "follow"], ["e", "unfold all"], ["[ ]", "attempt before, after"], ["s", "stop"]]],
  ["prompts", "Prompt", [["j k", "section"], ["↑ ↓", "line"], ["Enter", "where from"], ["c", "copy the exact bytes"], ["d", "compare"], ["w", "white space"], ["z", "fold"]]],
  ["compose", "Compose", [["Ctrl Enter", "seal"], ["F6", "next pane"], ["F8", "next error"]]],
];

let going = 0;
let selected = null;

const isOff = () => {
  try { return localStorage.getItem("callsheet.keys") === "off"; } catch { return false; }
};

const isTyping = (element) => element.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

/** The item that keys act on: the one with the focus in it, or the last one that was chosen. */
function current() {
  const focused = document.activeElement?.closest("[data-item]");
  if (focused) return focused;
  return selected ? document.querySelector(`[data-item="${CSS.escape(selected)}"]`) : null;
}

/** Makes an item the one that keys act on. */
export function select(item, focus = true) {
  for (const other of document.querySelectorAll("[data-item][aria-current=true]")) {
    if (other !== item) { other.removeAttribute("aria-current"); other.classList.remove("at"); }
  }
  selected = item?.dataset.item ?? null;
  if (!item) return;
  item.setAttribute("aria-current", "true");
  item.classList.add("at");
  if (focus) {
    if (!item.hasAttribute("tabindex")) item.tabIndex = -1;
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  }
}

function move(step) {
  const list = (current() ?? document.querySelector("[data-item]"))?.closest("[data-list]");
  if (!list) return false;
  const items = [...list.querySelectorAll("[data-item]")].filter((item) => item.offsetParent !== null);
  const at = items.indexOf(current());
  const next = items[at < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + step, 0), items.length - 1)];
  if (!next) return false;
  select(next);
  return true;
}

/** Presses the button that a key stands on: within the current item first, then on the page. */
function press(key) {
  const of = (root) => [...root.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find((button) => !button.disabled && button.offsetParent !== null);
  const item = current();
  let button = item && of(item);
  if (!button) button = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find((one) => !one.closest("[data-item]") && !one.disabled && one.offsetParent !== null);
  // With nothing chosen, the first item that the key fits is meant: it is chosen, and the next press acts.
  if (!button && !item) {
    const first = of(document)?.closest("[data-item]");
    if (first) { select(first); return true; }
  }
  if (!button) return false;
  button.click();
  return true;
}

function open(item) {
  const details = item.querySelector(":scope > details");
  if (details) { details.open = !details.open; return true; }
  const link = item.querySelector("a[href]");
  if (!link) return false;
  link.click();
  return true;
}

function mark() {
  const item = current();
  if (!item) return false;
  const on = item.getAttribute("aria-selected") === "true";
  item.setAttribute("aria-selected", String(!on));
  return true;
}

function compare() {
  const list = document.querySelector("[data-compare]");
  const marked = [...document.querySelectorAll("[data-item][aria-selected=true]")].map((item) => item.dataset.prompt).filter(Boolean);
  if (!list || marked.length !== 2) return false;
  location.assign(list.dataset.compare.replace("{a}", marked[1]).replace("{b}", marked[0]));
  return true;
}

export function showKeys() {
  const page = document.body.dataset.page;
  const element = dialog("Keys", "floating keys-all");
  const title = document.createElement("h2");
  title.textContent = "Keys";
  element.append(title);
  for (const [where, name, pairs] of SHOWN) {
    if (where && where !== page) continue;
    const part = document.createElement("h3");
    part.className = "label";
    part.textContent = name;
    const list = document.createElement("dl");
    list.className = "facts";
    for (const [keys, does] of pairs) {
      const term = document.createElement("dt");
      for (const key of keys.split(/(?<=,) /)) {
        if (key.endsWith(",")) term.append(Object.assign(document.createElement("kbd"), { textContent: key.slice(0, -1) }), ", ");
        else for (const one of key.split(" ")) term.append(one === "then" ? "then " : Object.assign(document.createElement("kbd"), { textContent: one }), " ");
      }
      const what = document.createElement("dd");
      what.textContent = does;
      list.append(term, what);
    }
    element.append(part, list);
  }
  const note = document.createElement("p");
  note.className = "dim";
  note.textContent = isOff() ? "Single keys are off; the settings switch them on." : "The settings switch single keys off.";
  const close = Object.assign(document.createElement("button"), { type: "button", className: "btn", textContent: "Close" });
  close.addEventListener("click", () => element.close());
  element.append(note, close);
  element.showModal();
}

function single(event) {
  const { key } = event;
  if (going && Date.now() - going < 1500) {
    going = 0;
    if (PLACES[key]) { location.assign(PLACES[key]); return true; }
  }
  going = 0;
  switch (key) {
    case "?": showKeys(); return true;
    case "g": going = Date.now(); return true;
    case "u": return undoLast();
    case "/": {
      const field = document.querySelector("[data-search]");
      field?.focus();
      field?.select?.();
      return Boolean(field);
    }
    default:
  }
  if (press(key)) return true;
  // What scrolls on its own keeps its arrows.
  if (key.startsWith("Arrow") && event.target.closest?.(".scroll, .cells, pre")) return false;
  switch (key) {
    case "j": case "ArrowDown": return document.querySelector("[data-list]") ? move(1) : false;
    case "k": case "ArrowUp": return document.querySelector("[data-list]") ? move(-1) : false;
    case "x": return mark();
    case "d": return compare();
    case "Enter": {
      const item = document.activeElement?.matches("[data-item]") ? document.activeElement : null;
      return item ? open(item) : false;
    }
    default: return false;
  }
}

function down(event) {
  if (event.defaultPrevented || event.isComposing) return;
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") { document.activeElement?.blur(); return; }
  if (isTyping(event.target) || isOff()) return;
  if (single(event)) event.preventDefault();
}

export function startKeys() {
  document.addEventListener("keydown", down);
  document.addEventListener("focusin", (event) => {
    const item = event.target.closest?.("[data-item]");
    if (item) select(item, false);
  });
  document.addEventListener("callsheet:select", (event) => select(event.target));
  // A row that was changed or moved is still the one that keys act on.
  document.addEventListener("callsheet:patched", () => { if (selected) { const item = current(); if (item) select(item, false); } });
  document.querySelector("[data-open=keys]")?.addEventListener("click", showKeys);
}
