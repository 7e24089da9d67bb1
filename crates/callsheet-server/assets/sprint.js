// The board: a story gets another state by dragging its card, or by the menu of the card, which a key opens, too.

import { ask } from "./api.js";
import { complain } from "./act.js";
import { dialog } from "./dialog.js";
import { select } from "./keys.js";
import { refresh } from "./live.js";
import { toast } from "./toast.js";

const board = () => document.querySelector("[data-board]");
const words = (text) => (text ? text.split(" ") : []);

/** Sets the state of a story; a step back says so. */
async function set(card, state, force) {
  const { item: key, name, word } = card.dataset;
  const url = `/api/stories/${encodeURIComponent(key)}/state`;
  try {
    await ask("POST", url, { state, force });
    const back = () => ask("POST", url, { state: word, force: true }).then(refresh);
    toast(`${name} is ${state}`, back);
    await refresh();
    const moved = document.querySelector(`[data-item="${CSS.escape(key)}"]`);
    if (moved) select(moved);
  } catch (error) {
    complain(card.querySelector(".c-top"), error);
  }
}

/** Opens the menu of a card. */
function menu(card) {
  const element = dialog(`State of ${card.dataset.name}`, "floating menu");
  const title = document.createElement("p");
  title.className = "label";
  title.textContent = `${card.dataset.name} is ${card.dataset.word || "without a state"}`;
  const list = document.createElement("div");
  list.setAttribute("role", "menu");
  const add = (state, force) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn plain";
    button.setAttribute("role", "menuitem");
    button.textContent = force ? `${state}, a step back` : state;
    button.addEventListener("click", () => { element.close(); set(card, state, force); });
    list.append(button);
  };
  for (const state of words(card.dataset.allowed)) add(state, false);
  for (const state of words(card.dataset.back)) add(state, true);
  element.append(title, list);
  element.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...list.children];
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  });
  element.addEventListener("close", () => select(card));
  element.showModal();
  list.firstElementChild?.focus();
}

/** Moves to the card beside the current one: the same height in the next column that has cards. */
function across(step) {
  const columns = [...board().querySelectorAll(".col")].filter((column) => column.querySelector("[data-item]"));
  const current = board().querySelector("[data-item][aria-current=true]");
  if (!columns.length) return;
  const at = columns.indexOf(current?.closest(".col"));
  const next = columns[at < 0 ? 0 : Math.min(Math.max(at + step, 0), columns.length - 1)];
  const row = current ? [...current.closest(".col").querySelectorAll("[data-item]")].indexOf(current) : 0;
  const cards = [...next.querySelectorAll("[data-item]")];
  select(cards[Math.min(row, cards.length - 1)]);
}

document.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step || !board() || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, textarea, select, .scroll, .cells")) return;
  event.preventDefault();
  across(step);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do=state]");
  if (button) menu(button.closest("[data-item]"));
  const step = event.target.closest("[data-step]");
  if (step) {
    const input = step.parentElement.querySelector("input");
    input.value = Math.min(Math.max(Number(input.value) + Number(step.dataset.step), 1), 999);
  }
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-all]")) return;
  const form = event.target.form;
  for (const input of form.querySelectorAll("[name=batch_size]")) input.disabled = (input.type === "hidden") !== event.target.checked;
});

let dragged = null;

document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest?.(".card[data-item]");
  if (!dragged) return;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", dragged.dataset.item);
  const may = new Set([...words(dragged.dataset.allowed), ...words(dragged.dataset.back)]);
  for (const column of board().querySelectorAll(".col")) column.classList.toggle("may", may.has(column.dataset.state));
});

document.addEventListener("dragover", (event) => {
  const column = event.target.closest?.(".col.may");
  if (!column || !dragged) return;
  event.preventDefault();
  for (const other of board().querySelectorAll(".col")) other.classList.toggle("over", other === column);
});

document.addEventListener("drop", (event) => {
  const column = event.target.closest?.(".col.may");
  if (!column || !dragged) return;
  event.preventDefault();
  const { state } = column.dataset;
  set(dragged, state, words(dragged.dataset.back).includes(state));
});

document.addEventListener("dragend", () => {
  dragged = null;
  for (const column of board().querySelectorAll(".col")) column.classList.remove("may", "over");
});
