// Staying live: one stream of events; when something happened, the page is asked for anew and its live parts are changed.

import { change } from "./morph.js";
import { now, span } from "./tick.js";
import { say } from "./toast.js";

/** Events within this time lead to one refresh. */
const GATHER = 120;

/** The longest wait between two tries to connect. */
const LONGEST = 15000;

/** What agents say does not change a page; a page that shows it listens for itself to `callsheet:event`. */
const QUIET = /^agent:(?!limit)/;

let last = Number(document.body.dataset.seq || 0);
let fresh = Date.now();
let source = null;
let wait = 1000;
let again = 0;
let lostAt = 0;
let ticker = 0;
let gathering = 0;
let going = null;
let more = false;

/** Asks for the page anew and changes what is live; one at a time. */
export function refresh() {
  if (going) {
    more = true;
    return going;
  }
  going = (async () => {
    do {
      more = false;
      await replace();
    } while (more);
  })().finally(() => { going = null; });
  return going;
}

async function replace() {
  const url = location.pathname + location.search;
  const response = await fetch(url, { headers: { accept: "text/html" }, credentials: "same-origin" }).catch(() => null);
  // The reader may have moved on in the meantime, by a filter that changes the address.
  if (!response || url !== location.pathname + location.search) return;
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const wanted of page.querySelectorAll("[data-live]")) {
    if (wanted.parentElement.closest("[data-live]")) continue;
    const found = document.querySelector(`[data-live="${CSS.escape(wanted.dataset.live)}"]`);
    if (found) change(found, wanted);
  }
  if (document.title !== page.title) document.title = page.title;
  fresh = Date.now();
  document.dispatchEvent(new CustomEvent("callsheet:patched"));
}

function gather() {
  if (gathering) return;
  gathering = setTimeout(() => { gathering = 0; refresh(); }, GATHER);
}

function heard(event) {
  if (event.lastEventId) last = Number(event.lastEventId);
  let detail = null;
  try { detail = JSON.parse(event.data); } catch { return; }
  document.dispatchEvent(new CustomEvent("callsheet:event", { detail }));
  if (!QUIET.test(detail.type ?? "")) gather();
}

function connect() {
  clearTimeout(again);
  source?.close();
  // A page that does not know where it stands hears what comes from now on.
  source = new EventSource(last ? `/api/events?since=${last}` : "/api/events");
  source.addEventListener("open", opened);
  source.addEventListener("message", heard);
  source.addEventListener("refetch", (event) => {
    if (event.lastEventId) last = Number(event.lastEventId);
    document.dispatchEvent(new CustomEvent("callsheet:refetch"));
    gather();
  });
  source.addEventListener("error", lost);
}

function opened() {
  wait = 1000;
  clearInterval(ticker);
  const was = lostAt;
  lostAt = 0;
  document.getElementById("stale").hidden = true;
  show("Live", true);
  if (was) {
    say("Live again");
    document.dispatchEvent(new CustomEvent("callsheet:refetch"));
    refresh();
  }
}

async function lost() {
  source?.close();
  source = null;
  if (!lostAt) {
    lostAt = Date.now();
    say("The connection is lost");
  }
  show("Not live", false);
  const at = Date.now() + wait;
  again = setTimeout(connect, wait);
  wait = Math.min(wait * 2, LONGEST);
  clearInterval(ticker);
  const tell = () => stale(at);
  ticker = setInterval(tell, 1000);
  tell();
  const probe = await fetch("/find?q=", { credentials: "same-origin" }).catch(() => null);
  if (probe?.status === 401 || probe?.status === 403) signedOut();
}

/** The server that answers is another one: it does not know the cookie. */
function signedOut() {
  clearTimeout(again);
  clearInterval(ticker);
  const ribbon = document.getElementById("stale");
  ribbon.querySelector("[data-word]").textContent =
    "The server was started anew and does not know this window. Open the address that `callsheet serve` printed.";
  ribbon.hidden = false;
}

function stale(at) {
  const ribbon = document.getElementById("stale");
  const clock = new Date(fresh + (now() - Date.now())).toISOString().slice(11, 19);
  const next = Math.max(Math.ceil((at - Date.now()) / 1000), 0);
  ribbon.querySelector("[data-word]").textContent =
    `Connection lost ${span(Date.now() - lostAt)} ago. What you see is from ${clock}. Next try in ${next}s.`;
  ribbon.hidden = false;
}

function show(word, live) {
  const link = document.getElementById("link");
  if (!link) return;
  link.querySelector("[data-word]").textContent = word;
  link.querySelector(".tally").classList.toggle("off", !live);
}

export function startLive() {
  document.querySelector("#stale [data-try]")?.addEventListener("click", () => { wait = 1000; connect(); });
  // A page that goes to sleep in the history of the browser lets go of its stream, and takes it up when it comes back.
  addEventListener("pagehide", () => { clearTimeout(again); source?.close(); source = null; });
  addEventListener("pageshow", (event) => { if (event.persisted) { connect(); refresh(); } });
  connect();
}
