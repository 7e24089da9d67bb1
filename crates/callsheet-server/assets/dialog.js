// Dialogs: a question before what cannot be undone, and the frame of everything that floats.

import { visible } from "./toast.js";

/** Makes a dialog that closes with Escape or a click beside it. */
export function dialog(label, kind) {
  const element = document.createElement("dialog");
  element.className = kind;
  element.setAttribute("aria-label", label);
  element.addEventListener("click", (event) => { if (event.target === element) element.close(); });
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  return element;
}

/** Asks; true if the answer is yes. */
export function confirm(question, yes) {
  return new Promise((resolve) => {
    const element = dialog(question, "floating ask");
    const text = document.createElement("p");
    text.textContent = visible(question);
    const acts = document.createElement("p");
    acts.className = "acts";
    const button = (words, kind, answer) => {
      const made = document.createElement("button");
      made.type = "button";
      made.className = `btn ${kind}`;
      made.textContent = words;
      made.addEventListener("click", () => { resolve(answer); element.close(); });
      acts.append(made);
      return made;
    };
    button(yes.replace(/…$/, ""), "bad", true);
    const no = button("Leave it", "", false);
    element.append(text, acts);
    element.addEventListener("close", () => resolve(false));
    element.showModal();
    no.focus();
  });
}
