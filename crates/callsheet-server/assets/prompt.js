// The inspector: where bytes come from, folding, keys, copying, and a text that is asked for as it comes into sight.

import { complain } from "./act.js";
import { toast } from "./toast.js";
import { windowed } from "./window.js";

const page = document.querySelector(".inspect");
const script = document.querySelector("[data-script]");
const panel = document.querySelector("[data-whence]");
const id = page.dataset.prompt;
const utf8 = new TextEncoder();
const scenes = () => [...script.querySelectorAll("details.scene")];

// --- the text, as far as it is needed ---

const bytes = script.querySelector(".hex");

windowed(script, {
  url: (chunk) => `/prompts/${id}/${chunk.dataset.part ?? "lines"}?from=${chunk.dataset.from}&count=${chunk.dataset.lines}`,
  key: bytes ? `${id}.bytes` : id,
  changed: (chunk) => { if (white) show(chunk); mark(); },
});

// --- white space ---

let white = false;
const button = script.querySelector("[data-white]");

/** Puts each space and tab in an element of its own; the text stays what it is. */
function show(root) {
  for (const line of root.querySelectorAll(".l:not(.eol)")) {
    line.classList.add("eol");
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    for (const node of nodes) {
      if (!/[ \t]/.test(node.data) || node.parentElement.matches(".ctl")) continue;
      const parts = node.data.split(/([ \t])/).filter(Boolean);
      node.replaceWith(...parts.map((part) => {
        if (part !== " " && part !== "\t") return part;
        const sign = document.createElement("span");
        sign.className = part === " " ? "sp" : "tab";
        sign.textContent = part;
        return sign;
      }));
    }
  }
}

function hide() {
  for (const line of script.querySelectorAll(".l.eol")) {
    line.classList.remove("eol");
    for (const sign of line.querySelectorAll(".sp, .tab")) sign.replaceWith(sign.textContent);
    line.normalize();
  }
}

button?.addEventListener("click", () => {
  white = !white;
  button.setAttribute("aria-pressed", String(white));
  if (white) show(script); else hide();
  mark();
});

// --- from a place on the screen to bytes ---

const bytesOf = (node) => {
  if (node.nodeType === 3) return utf8.encode(node.data).length;
  if (node.matches?.(".ctl")) return Number(node.dataset.b);
  let sum = 0;
  for (const child of node.childNodes) sum += bytesOf(child);
  return sum;
};

/** Counts the bytes of a line before a place in it. */
function before(line, node, offset) {
  let sum = 0;
  const walk = (at) => {
    if (at === node) {
      if (at.nodeType === 3) sum += utf8.encode(at.data.slice(0, offset)).length;
      else for (const child of [...at.childNodes].slice(0, offset)) sum += bytesOf(child);
      return true;
    }
    if (at.matches?.(".ctl")) {
      if (at.contains(node)) return true;
      sum += Number(at.dataset.b);
      return false;
    }
    if (at.nodeType === 3) { sum += utf8.encode(at.data).length; return false; }
    for (const child of at.childNodes) if (walk(child)) return true;
    return false;
  };
  walk(line);
  return sum;
}

const lineOf = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest(".l[data-r]");

function placeOf(node, offset) {
  const line = lineOf(node);
  return line ? Number(line.dataset.r) + before(line, node, offset) : null;
}

/** Returns the word at a place of a line, as bytes to read. */
function wordAt(node, offset) {
  if (node.nodeType !== 3) return null;
  const isWord = (c) => c !== undefined && /[\p{L}\p{N}_]/u.test(c);
  let [from, to] = [offset, offset];
  while (from > 0 && isWord(node.data[from - 1])) from -= 1;
  while (isWord(node.data[to])) to += 1;
  if (from === to) to = Math.min(from + 1, node.data.length);
  const start = placeOf(node, from);
  return start === null ? null : [start, placeOf(node, to)];
}

function caret(event) {
  if (document.caretPositionFromPoint) {
    const at = document.caretPositionFromPoint(event.clientX, event.clientY);
    return at && [at.offsetNode, at.offset];
  }
  const range = document.caretRangeFromPoint?.(event.clientX, event.clientY);
  return range && [range.startContainer, range.startOffset];
}

// --- where it comes from ---

let asked = 0;
let chosen = null;

/** Shows where bytes come from; places are those of the text to read. */
async function ask(from, to) {
  const turn = ++asked;
  const response = await fetch(`${panel.dataset.whence}?r=${from}&rto=${to}`, { credentials: "same-origin" }).catch(() => null);
  if (turn !== asked) return;
  if (!response?.ok) {
    complain(panel.querySelector("[data-into]"), { status: response?.status ?? 0, message: "The source cannot be shown." });
    return;
  }
  panel.querySelector("[data-into]").innerHTML = await response.text();
  panel.classList.remove("idle");
  const chain = panel.querySelector(".chain");
  chosen = chain && [Number(chain.dataset.r), Number(chain.dataset.rto)];
  const url = new URL(location);
  if (chain) {
    url.searchParams.set("at", chain.dataset.start);
    url.searchParams.set("to", chain.dataset.end);
    history.replaceState(history.state, "", url);
  }
  mark();
}

/** Finds a place of the text to read on the screen. */
function find(place) {
  let found = null;
  for (const line of script.querySelectorAll(".l[data-r]")) {
    if (Number(line.dataset.r) > place) break;
    found = line;
  }
  if (!found) return null;
  let left = place - Number(found.dataset.r);
  const walker = document.createTreeWalker(found, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const ctl = node.parentElement.closest(".ctl");
    const size = ctl ? Number(ctl.dataset.b) : utf8.encode(node.data).length;
    if (left <= size) {
      if (ctl) return [node, left ? node.data.length : 0];
      let at = 0;
      for (const c of node.data) {
        if (left <= 0) break;
        left -= utf8.encode(c).length;
        at += c.length;
      }
      return [node, at];
    }
    left -= size;
  }
  return null;
}

/** Marks the bytes that the panel speaks of, and their line. */
function mark() {
  for (const line of script.querySelectorAll(".l.on")) line.classList.remove("on");
  for (const row of document.querySelectorAll(".sections tr.on")) row.classList.remove("on");
  globalThis.CSS?.highlights?.delete("whence");
  if (!chosen) return;
  const [from, to] = [find(chosen[0]), find(chosen[1])];
  if (!from || !to) return;
  const line = lineOf(from[0]);
  line?.classList.add("on");
  const no = line?.closest("[data-no]")?.dataset.no;
  if (no) document.querySelector(`.sections tr[data-no="${CSS.escape(no)}"]`)?.classList.add("on");
  if (!globalThis.Highlight) return;
  const range = new Range();
  range.setStart(...from);
  range.setEnd(...to);
  CSS.highlights.set("whence", new Highlight(range));
}

script.addEventListener("click", (event) => {
  if (event.target.closest("summary, a, button")) return;
  const selection = getSelection();
  if (selection.rangeCount && !selection.isCollapsed && script.contains(selection.anchorNode)) {
    const range = selection.getRangeAt(0);
    const [from, to] = [placeOf(range.startContainer, range.startOffset), placeOf(range.endContainer, range.endOffset)];
    if (from !== null && to !== null && to > from) ask(from, to);
    return;
  }
  const at = caret(event);
  const word = at && wordAt(...at);
  if (word) {
    stand(lineOf(at[0]), false);
    ask(...word);
  }
});

panel.querySelector(".x").addEventListener("click", () => {
  panel.classList.add("idle");
  chosen = null;
  mark();
  script.focus();
});

// --- lines and sections by key ---

let current = null;

/** Stands on a line. */
function stand(line, scroll = true) {
  current?.classList.remove("cur");
  current = line;
  if (!line) return;
  line.classList.add("cur");
  if (scroll) line.scrollIntoView({ block: "nearest" });
}

const shown = () => [...script.querySelectorAll("details[open] .l, .between .l, .hex .l")];

function step(by) {
  const lines = shown();
  let at = current?.isConnected ? lines.indexOf(current) : -1;
  if (at < 0) at = by > 0 ? -1 : lines.length;
  const next = lines[Math.min(Math.max(at + by, 0), lines.length - 1)];
  if (next) stand(next);
}

/** Goes to the section before or after. */
function section(by) {
  const all = [...script.querySelectorAll("details.scene > summary, .omitted")];
  const here = document.activeElement?.closest?.("details.scene > summary, .omitted") ?? current?.closest("details.scene")?.querySelector("summary");
  const at = here ? all.indexOf(here) : by > 0 ? -1 : all.length;
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next) return;
  if (next.matches(".omitted")) next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "start" });
  stand(next.parentElement.querySelector?.(".l") ?? null, false);
}

const isOff = () => { try { return localStorage.getItem("callsheet.keys") === "off"; } catch { return false; } };

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  const inside = script.contains(document.activeElement) || document.activeElement === document.body || document.activeElement?.id === "main";
  switch (event.key) {
    case "j": section(1); break;
    case "k": section(-1); break;
    case "ArrowDown": if (!inside) return; step(1); break;
    case "ArrowUp": if (!inside) return; step(-1); break;
    case "z": {
      const scene = document.activeElement?.closest?.("details.scene") ?? current?.closest("details.scene");
      if (!scene) return;
      scene.open = !scene.open;
      break;
    }
    case "Enter": {
      if (!current || document.activeElement?.closest("summary, a, button")) return;
      const from = Number(current.dataset.r);
      ask(from, Math.max(from + bytesOf(current) - 1, from + 1));
      break;
    }
    default: return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
}, { capture: true });

// --- folding, which is kept ---

const KEPT = `callsheet.folded.${id}`;
try {
  const folded = new Set(JSON.parse(sessionStorage.getItem(KEPT) ?? "[]"));
  for (const scene of scenes()) if (folded.has(scene.dataset.no)) scene.open = false;
} catch { /* Nothing is kept where nothing may be. */ }
script.addEventListener("toggle", () => {
  const folded = scenes().filter((scene) => !scene.open).map((scene) => scene.dataset.no);
  try { sessionStorage.setItem(KEPT, JSON.stringify(folded)); } catch { /* As above. */ }
  const all = script.querySelector("[data-fold-all]");
  if (all) all.textContent = scenes().some((scene) => scene.open) ? "Fold all" : "Unfold all";
}, { capture: true });
script.querySelector("[data-fold-all]")?.addEventListener("click", () => {
  const open = !scenes().some((scene) => scene.open);
  for (const scene of scenes()) scene.open = open;
});

document.querySelector(".sections").addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-no]");
  if (!row) return;
  const scene = document.getElementById(`s${row.dataset.no}`);
  if (!scene) return;
  event.preventDefault();
  if (scene.matches("details")) scene.open = true;
  scene.scrollIntoView({ block: "start" });
  const summary = scene.querySelector("summary");
  summary?.focus({ preventScroll: true });
});

// --- copying and comparing ---

document.querySelector("[data-exact]")?.addEventListener("click", async (event) => {
  const button = event.currentTarget;
  const response = await fetch(button.dataset.exact, { credentials: "same-origin" }).catch(() => null);
  if (!response?.ok) {
    complain(button, { status: response?.status ?? 0, message: "The prompt could not be copied. Nothing was changed." });
    return;
  }
  const exact = await response.text();
  try {
    await navigator.clipboard.writeText(exact);
    toast(`Copied ${utf8.encode(exact).length.toLocaleString("en")} bytes`);
  } catch {
    complain(button, { status: 0, message: "Your browser does not allow copying here. “Raw text” shows the exact bytes." });
  }
});
document.querySelector("[data-focus]")?.addEventListener("click", (event) => {
  event.preventDefault();
  const field = document.getElementById(event.currentTarget.dataset.focus);
  field?.scrollIntoView({ block: "center" });
  field?.focus();
});

const given = panel.querySelector(".chain");
if (given) {
  chosen = [Number(given.dataset.r), Number(given.dataset.rto)];
  mark();
  find(chosen[0])?.[0].parentElement.scrollIntoView({ block: "center" });
}
