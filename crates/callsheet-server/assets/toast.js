// Toasts: what was done, to what, and a way back. Errors are not toasts.

const STAYS = 8000;

let undo = null;

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Spells out characters that cannot be seen or that turn the direction. */
export const visible = (text) =>
  text.replace(HIDDEN, (c) => `U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);

/** Says something to whoever listens to the page instead of seeing it. */
export function say(text) {
  const status = document.getElementById("status");
  if (status) status.textContent = text;
}

/** Shows what was done; `back` undoes it. */
export function toast(text, back = null) {
  document.querySelector(".toast")?.remove();
  const element = document.createElement("div");
  element.className = "toast";
  const said = document.createElement("span");
  said.textContent = visible(text);
  element.append(sign("pass", "pass-c"), said);
  undo = null;
  if (back) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn plain";
    button.append("Undo ");
    const key = document.createElement("kbd");
    key.textContent = "U";
    button.append(key);
    undo = () => { undo = null; element.remove(); back(); };
    button.addEventListener("click", () => undo?.());
    element.append(button);
  }
  document.body.append(element);
  say(text);
  leave(element, undo);
}

/** Undoes what the last toast told of, if it can be undone. */
export function undoLast() {
  if (!undo) return false;
  undo();
  return true;
}

/** An icon of the sprite. */
export function sign(name, kind = "") {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", `icon ${kind}`.trim());
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `/assets/icons.svg#i-${name}`);
  svg.append(use);
  return svg;
}

/** Takes a toast away after a while, but not while it has the focus or the pointer. */
function leave(element, mine) {
  let timer = 0;
  const start = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (element.matches(":hover, :focus-within")) return start();
      if (undo === mine) undo = null;
      element.remove();
    }, STAYS);
  };
  start();
}
