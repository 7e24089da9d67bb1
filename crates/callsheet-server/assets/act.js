// Buttons and forms that act: `data-url`, `data-method`, `data-body`, and what to say when it is done.

import { Refused, ask } from "./api.js";
import { confirm } from "./dialog.js";
import { refresh } from "./live.js";
import { say, sign, toast, visible } from "./toast.js";

/** Where an error of an action stands: behind the row of buttons, or behind what was used. */
const place = (element) => element.closest("[data-errors]") ?? element.closest(".acts, .head-acts, .decide, form") ?? element;

/** Shows an error where the action was. */
export function complain(element, error) {
  settle(element);
  const ribbon = document.createElement("p");
  ribbon.className = "ribbon bad";
  ribbon.setAttribute("role", "alert");
  ribbon.setAttribute("data-stays", "");
  const text = document.createElement("span");
  if (error.status) {
    const code = document.createElement("code");
    code.textContent = error.status;
    text.append(code, " ");
  }
  text.append(visible(error.message));
  for (const hint of error.hints ?? []) text.append(document.createElement("br"), visible(hint));
  ribbon.append(sign("fail"), text);
  place(element).after(ribbon);
}

/** Shows why something could not be undone: where its action was, or, if that has left the page, on top of it. */
function complainOf(element, error) {
  const first = document.querySelector("main > *");
  if (element.isConnected) complain(element, error);
  else if (first) complain(first, error);
}

/** Takes away the error that stands behind an action. */
function settle(element) {
  const next = place(element).nextElementSibling;
  if (next?.matches(".ribbon.bad[role=alert]")) next.remove();
}

/** Reads a form as JSON: names with dots make objects, empty fields are left out. */
export function values(form) {
  const body = {};
  for (const field of form.elements) {
    if (!field.name || field.disabled || field.type === "submit") continue;
    let value = field.value;
    if (field.type === "checkbox") value = field.checked;
    else if (field.type === "radio" && !field.checked) continue;
    else if (field.dataset.kind === "number") value = value === "" ? undefined : Number(value);
    else if (field.dataset.kind === "list") value = value.split("\n").map((line) => line.trim()).filter(Boolean);
    else if (value === "" && field.dataset.empty === undefined) value = undefined;
    if (value === undefined) continue;
    const path = field.name.split(".");
    let at = body;
    for (const step of path.slice(0, -1)) at = at[step] ??= {};
    at[path.at(-1)] = value;
  }
  return body;
}

/** Does what a button or a form says. */
export async function act(element) {
  const { url, method = "POST", done, undoUrl, undoMethod = "POST", undoBody, confirm: question, sure } = element.dataset;
  if (question && !(await confirm(question, sure ?? element.textContent.trim()))) return;
  const buttons = element.matches("form") ? [...element.querySelectorAll("button")] : [element];
  for (const button of buttons) button.setAttribute("aria-busy", "true");
  settle(element);
  try {
    const body = element.matches("form") ? values(element) : element.dataset.body;
    let made = null;
    // Several addresses are asked one after the other; the first that refuses ends it.
    for (const one of url.split(" ")) made = await ask(method, one, method === "GET" || method === "DELETE" ? null : body ?? "{}");
    // What was made is undone by its id.
    const undo = undoUrl?.replace("{id}", made?.id ?? "");
    const back = undo ? () => ask(undoMethod, undo, undoBody ?? "{}").then(() => refresh(), (error) => complainOf(element, error)) : null;
    if (done) toast(done, back);
    follow(element);
    await refresh();
    if (element.dataset.go) location.assign(element.dataset.go);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    complain(element, error);
  } finally {
    for (const button of buttons) button.removeAttribute("aria-busy");
  }
}

/** Moves the focus to the next row, because this one leaves the list. */
function follow(element) {
  const row = element.closest("[data-item]");
  const next = row?.nextElementSibling ?? row?.previousElementSibling;
  if (next?.matches("[data-item]")) next.dispatchEvent(new CustomEvent("callsheet:select", { bubbles: true }));
}

export function startActing() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-url]");
    if (!button || button.disabled || button.getAttribute("aria-busy")) return;
    event.preventDefault();
    act(button);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-url]");
    if (!form) return;
    event.preventDefault();
    act(form);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const from = document.getElementById(button.dataset.copy);
    const text = button.dataset.text ?? from?.textContent ?? "";
    navigator.clipboard.writeText(text).then(() => toast("Copied"), () => say("Copying is not allowed here"));
  });
}
