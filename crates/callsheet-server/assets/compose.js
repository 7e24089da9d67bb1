// Compose: the prompt as it would be, while its input is edited.

import { complain } from "./act.js";
import { Refused, ask } from "./api.js";
import { toast } from "./toast.js";

const root = document.querySelector(".composer");
const recipe = root.dataset.recipe;
const input = document.getElementById("input");
const gutter = root.querySelector(".gut");
const budget = document.getElementById("budget");
const slide = document.getElementById("slide");
const stale = root.querySelector("[data-stale]");
const sealing = document.querySelector("[data-seal]");
const KEPT = `callsheet.input.${recipe}`;

/** So long after the last key the prompt is composed. */
const PAUSE = 250;

let unit = "tokens";
let first = null;
let before = null;
let wrongLine = 0;
let good = 0;

const part = (name) => document.querySelector(`[data-part="${name}"]`);

// --- the gutter ---

function number() {
  const count = input.value.split("\n").length;
  while (gutter.children.length > count) gutter.lastChild.remove();
  while (gutter.children.length < count) {
    const line = document.createElement("li");
    const shown = document.createElement("span");
    shown.textContent = gutter.children.length + 1;
    line.append(shown);
    gutter.append(line);
  }
  for (const line of gutter.querySelectorAll(".err")) {
    line.classList.remove("err");
    line.querySelector("em")?.remove();
  }
  if (wrongLine && gutter.children[wrongLine - 1]) {
    const line = gutter.children[wrongLine - 1];
    line.classList.add("err");
    const said = document.createElement("em");
    const message = part("errors").dataset.message ?? "";
    said.textContent = message.length > 48 ? `${message.slice(0, 47)}…` : message;
    line.append(said);
  }
  input.rows = Math.min(Math.max(count + 1, 12), 40);
}

// --- composing ---

let turn = 0;
let timer = 0;
let stop = null;

const soon = (pause = PAUSE) => { clearTimeout(timer); timer = setTimeout(compose, pause); };

async function compose() {
  const mine = ++turn;
  stop?.abort();
  stop = new AbortController();
  const query = budget.value ? `?budget=${Number(budget.value)}&unit=${unit}` : `?unit=${unit}`;
  let response;
  try {
    response = await fetch(`/compose/${recipe.split("/").map(encodeURIComponent).join("/")}${query}`, {
      method: "POST", body: input.value.trim() ? input.value : "{}", headers: { "content-type": "text/plain; charset=utf-8" }, credentials: "same-origin", signal: stop.signal,
    });
  } catch (error) {
    if (error.name !== "AbortError") tell("The server cannot be reached. Your input is as you typed it.");
    return;
  }
  if (mine !== turn) return;
  const text = await response.text();
  if (!response.ok) {
    let message = `the server answered ${response.status}`;
    try { message = JSON.parse(text).error.message; } catch { /* Not an answer of ours. */ }
    tell(message);
    return;
  }
  const answer = new DOMParser().parseFromString(`<body>${text}`, "text/html");
  const result = answer.querySelector('[data-part="result"]');
  if (result) show(answer);
  else refuse(answer);
}

function tell(message) {
  stale.hidden = false;
  stale.querySelector("span").textContent = message;
}

/** Shows what is wrong; the last result stays. */
function refuse(answer) {
  maySeal("The input has an error");
  const errors = answer.querySelector('[data-part="errors"]');
  wrongLine = Number(errors.dataset.line) || 0;
  part("errors").dataset.message = errors.dataset.message;
  part("errors").replaceChildren(...errors.childNodes);
  input.setAttribute("aria-invalid", "true");
  number();
  const cell = [...part("cells").children].at(-1).querySelector("dd");
  cell.className = "fail-c";
  cell.textContent = wrongLine ? `1 in the input, line ${wrongLine}` : "1";
  if (good) {
    const at = Math.round((Date.now() - good) / 1000);
    tell(`${wrongLine ? `Line ${wrongLine} has an error` : "The input has an error"}. This is the result of the last valid input, ${at}s ago.`);
  }
}

function show(answer) {
  maySeal("");
  good = Date.now();
  wrongLine = 0;
  stale.hidden = true;
  input.removeAttribute("aria-invalid");
  const tokens = Number(answer.querySelector("[data-tokens]").dataset.tokens);
  first ??= tokens;
  const kept = part("cells").querySelector("dd").cloneNode(true);
  const open = new Set([...document.querySelectorAll(".result details[open]")].map((one) => one.dataset.no));
  const cells = answer.querySelector('[data-part="cells"]');
  cells.querySelector("[data-keep]").replaceWith(kept);
  cells.querySelector("[data-size]").textContent = `${input.value.split("\n").length.toLocaleString("en")} lines`;
  const by = tokens - first;
  cells.querySelector("[data-since]").textContent = by ? `${by > 0 ? "+" : "−"}${Math.abs(by).toLocaleString("en")} tokens` : "the same";
  const sizes = new Map();
  for (const one of answer.querySelectorAll("details[data-was]")) {
    const size = Number(one.dataset.tokens);
    sizes.set(one.dataset.was, size);
    const was = before?.get(one.dataset.was) ?? (before ? 0 : size);
    if (size !== was) one.querySelector(".chg").textContent = `${size > was ? "+" : "−"}${Math.abs(size - was)}`;
    if (open.has(one.dataset.no)) one.open = true;
  }
  before ??= sizes;
  for (const wanted of answer.querySelectorAll("[data-part]")) {
    const found = part(wanted.dataset.part);
    if (found) found.replaceChildren(...wanted.childNodes);
  }
  const ticks = answer.querySelector('[data-part="ticks"]');
  slide.min = ticks.dataset.least;
  slide.max = ticks.dataset.most;
  slide.value = budget.value || slide.max;
  number();
}

input.addEventListener("input", () => {
  number();
  try { sessionStorage.setItem(KEPT, input.value); } catch { /* Nothing is kept where nothing may be. */ }
  soon();
});
budget.addEventListener("input", () => soon());
slide.addEventListener("input", () => { budget.value = slide.value; soon(120); });
root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-unit]");
  if (button && button.dataset.unit !== unit) {
    unit = button.dataset.unit;
    for (const one of root.querySelectorAll("[data-unit]")) one.setAttribute("aria-pressed", String(one === button));
    budget.value = "";
    soon(0);
  }
  if (event.target.closest("[data-no-budget]")) { budget.value = ""; soon(0); }
  const link = event.target.closest("[data-to-line]");
  if (link) { event.preventDefault(); toLine(Number(link.dataset.toLine)); }
});

// --- sealing ---

/** Says why it cannot be sealed now; nothing where it can. */
function maySeal(why) {
  if (!sealing) return;
  sealing.disabled = Boolean(why);
  if (why) sealing.title = why;
  else sealing.removeAttribute("title");
}

/** Keeps the prompt of what is typed, and goes to its page. */
async function seal() {
  if (!sealing || sealing.disabled || sealing.getAttribute("aria-busy")) return;
  sealing.setAttribute("aria-busy", "true");
  const limit = budget.value ? `?${unit === "bytes" ? "byte" : "token"}_budget=${Number(budget.value)}` : "";
  try {
    const sealed = await ask("POST", `/api/prompts${limit}`, { recipe, yaml: input.value.trim() ? input.value : "{}" });
    location.assign(`/prompts/${sealed.id}`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    error.hints.push("Nothing was sealed.");
    complain(sealing, error);
  } finally {
    sealing.removeAttribute("aria-busy");
  }
}

sealing?.addEventListener("click", seal);

// --- keys ---

function toLine(line) {
  const lines = input.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  input.focus();
  input.setSelectionRange(at, at + (lines[line - 1]?.length ?? 0));
  gutter.children[line - 1]?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    seal();
  }
  if (event.key === "F8" && wrongLine) {
    event.preventDefault();
    toLine(wrongLine);
  }
  if (event.key === "F6") {
    event.preventDefault();
    const panes = [...root.querySelectorAll("[data-pane]")];
    const at = panes.findIndex((pane) => pane.contains(document.activeElement));
    const next = panes[(at + (event.shiftKey ? -1 : 1) + panes.length) % panes.length];
    (next.matches("input, textarea") ? next : next.querySelector("a[aria-current], summary, a, button") ?? next).focus();
  }
});

document.querySelector("[data-command]").addEventListener("click", async (event) => {
  const limit = budget.value ? ` --${unit === "bytes" ? "byte" : "token"}-budget ${budget.value}` : "";
  try {
    await navigator.clipboard.writeText(`${event.currentTarget.dataset.command}${limit}`);
    toast("Copied. Save the input as input.yaml");
  } catch { tell("Your browser does not allow copying here."); }
});

try { input.value = sessionStorage.getItem(KEPT) ?? input.value; } catch { /* As above. */ }
number();
soon(0);
