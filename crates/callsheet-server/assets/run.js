// A run: its stream as it comes, bodies of calls on demand, decisions about what lies out of scope.

import { complain } from "./act.js";
import { Refused, ask } from "./api.js";
import { refresh } from "./live.js";
import { morph } from "./morph.js";
import { say } from "./toast.js";
import { windowed } from "./window.js";

const id = document.querySelector("[data-run]").dataset.run;
const sheet = document.getElementById("stream");
const box = sheet.querySelector("[data-stream]");
const follow = sheet.querySelector("[data-follow]");
const show = sheet.dataset.show;

/** Lines wait this long for more of them. */
const GATHER = 80;

/** How many events a page of the stream has. */
const PAGE = 200;

let following = false;
let pulled = false;

const address = (from, count = PAGE) => `/runs/${id}/events?after=${from - 1}&count=${count}&show=${show}`;

const stream = windowed(box, {
  url: (chunk) => address(Number(chunk.dataset.from), chunk.dataset.lines),
  key: `${id}.${show}`,
  // Whoever follows comes back to the end.
  keeps: () => !following,
  // What was asked for on the way to the end is larger or smaller than the room that was kept for it.
  changed: () => { if (following) toEnd(); },
  row: 12,
});

// --- following ---

function toEnd() {
  pulled = true;
  box.scrollTop = box.scrollHeight;
  if (getComputedStyle(box).maxHeight === "none") sheet.querySelector(".stream-end").scrollIntoView({ block: "end" });
  requestAnimationFrame(() => { pulled = false; });
}

function setFollowing(on) {
  following = on;
  follow.setAttribute("aria-pressed", String(on));
  if (on) toEnd();
}

follow.addEventListener("click", () => setFollowing(!following));
// The end is where the last events are, and not where the room for them ends.
box.addEventListener("keydown", (event) => {
  if (event.key !== "End" || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  setFollowing(true);
});
let top = box.scrollTop;
box.addEventListener("scroll", () => {
  // Whoever scrolls up wants to read.
  if (!pulled && following && box.scrollTop < top - 4) setFollowing(false);
  top = box.scrollTop;
});
if ("goesOn" in sheet.dataset && !stream.isBack) setFollowing(true);

// --- what happens now ---

let gathering = 0;
let busy = false;
let more = false;

/** Asks for the last page anew, and for those after it. */
async function grow() {
  if (busy) { more = true; return; }
  busy = true;
  try {
    do {
      more = false;
      while (await last());
    } while (more);
  } finally {
    busy = false;
  }
  if (following) toEnd();
}

/** Brings the last page up to date; tells whether another one may come after it. */
async function last() {
  let chunk = box.querySelector(".chunk:last-of-type");
  if (!chunk) {
    box.replaceChildren();
    chunk = add(1);
  }
  const response = await fetch(address(Number(chunk.dataset.from)), { credentials: "same-origin" }).catch(() => null);
  if (!response?.ok) return false;
  const page = document.createElement("ol");
  page.innerHTML = await response.text();
  const count = Number(response.headers.get("x-count"));
  if (chunk.dataset.lines) {
    delete chunk.dataset.lines;
    chunk.style.minHeight = "";
    chunk.replaceChildren(...page.childNodes);
  } else {
    const bodies = [...chunk.querySelectorAll("[data-had]")].map((one) => [one.dataset.body, one.querySelector(".body")]);
    morph(chunk, page);
    for (const [address, body] of bodies) {
      const found = chunk.querySelector(`[data-body="${CSS.escape(address)}"]`);
      if (found && !found.querySelector(".body")) found.append(body);
    }
  }
  total(count - Number(chunk.dataset.count));
  chunk.dataset.count = count;
  if (count < PAGE) return false;
  add(Number(response.headers.get("x-last")) + 1, 0);
  return true;
}

function add(from) {
  const chunk = document.createElement("ol");
  chunk.className = "stream chunk";
  chunk.dataset.from = from;
  chunk.dataset.count = 0;
  box.append(chunk);
  stream.watch(chunk);
  return chunk;
}

function total(by) {
  const shown = sheet.querySelector("[data-total]");
  const now = Number(shown.textContent.replaceAll(",", "")) + by;
  shown.textContent = now.toLocaleString("en");
}

const soon = () => {
  if (gathering) return;
  gathering = setTimeout(() => { gathering = 0; grow(); }, GATHER);
};
document.addEventListener("callsheet:event", (event) => {
  if (event.detail?.run !== id) return;
  soon();
  if (event.detail.type === "run:finished") {
    sheet.querySelector("[data-end]").textContent = "The run is over.";
    say("The run is over");
  }
});
document.addEventListener("callsheet:refetch", soon);
if ("goesOn" in sheet.dataset) soon();

// --- bodies of calls ---

async function fill(details) {
  if (!details.open || !details.dataset.body || details.dataset.had !== undefined) return;
  details.dataset.had = "";
  const response = await fetch(details.dataset.body, { credentials: "same-origin" }).catch(() => null);
  if (!response?.ok) {
    delete details.dataset.had;
    return;
  }
  const body = document.createElement("div");
  body.className = "body";
  body.setAttribute("data-stays", "");
  body.innerHTML = await response.text();
  details.querySelector(":scope > .more")?.remove();
  details.append(body);
}

box.addEventListener("toggle", (event) => {
  // What failed is open from the start; its end is there already.
  const details = event.target;
  if (details.open && !details.querySelector(":scope > .out")) fill(details);
}, { capture: true });
box.addEventListener("click", (event) => {
  const link = event.target.closest(".tool .more a");
  if (!link) return;
  event.preventDefault();
  fill(link.closest("details"));
});

// --- keys ---

const isOff = () => { try { return localStorage.getItem("callsheet.keys") === "off"; } catch { return false; } };

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  if (event.key === "e") {
    const all = [...box.querySelectorAll("details.tool")];
    const open = all.some((one) => !one.open);
    for (const one of all) one.open = open;
    event.preventDefault();
  }
});

// --- once more ---

async function again(button, url, body) {
  button.setAttribute("aria-busy", "true");
  try {
    const run = await ask("POST", url, body);
    if (run?.id) location.assign(`/runs/${run.id}`);
    else await refresh();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    complain(button, error);
  } finally {
    button.removeAttribute("aria-busy");
  }
}

const form = document.getElementById("more");
document.addEventListener("click", (event) => {
  const retry = event.target.closest("[data-again]");
  if (retry && !retry.disabled) again(retry, retry.dataset.again, {});
  const button = event.target.closest("[data-more]");
  if (button && !button.disabled) {
    form.hidden = !form.hidden;
    button.setAttribute("aria-expanded", String(!form.hidden));
    if (!form.hidden) form.querySelector("textarea").focus();
  }
  if (event.target.closest("[data-cancel]")) form.hidden = true;
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  again(form, form.dataset.continue, { additional_input: form.querySelector("textarea").value });
});
