// Long lists in chunks: those near the window are asked for, those far away are let go, and the scroll bar stays true.

/** How far outside of the window chunks are kept. */
const NEAR = "1200px";

/** A chunk that ends this close to where the list begins to be seen, in pixels, stands above what is read. */
const ABOVE = 160;

/** Returns what scrolls: the list itself, or the page. */
const scrolls = (list) => (/auto|scroll/.test(getComputedStyle(list).overflowY) && getComputedStyle(list).maxHeight !== "none" ? list : null);

/**
 * Watches the chunks of a list; `url` says where the content of one is, `key` under which name the place in it is kept, and
 * `keeps` whether it is worth keeping.
 */
export function windowed(list, { url, key, keeps = () => true, changed = () => {}, row = 0 }) {
  const waiting = new Map();
  // Where the browser did it as well, it would be done twice.
  list.style.overflowAnchor = "none";
  const height = row || Number.parseFloat(getComputedStyle(list).lineHeight) || 20;

  const hold = (chunk) => { if (chunk.dataset.lines) chunk.style.minHeight = `${Number(chunk.dataset.lines) * height}px`; };

  /** Brings the content of a chunk, unless it is there. */
  function load(chunk) {
    if (!waiting.has(chunk) && chunk.dataset.lines) {
      const stop = new AbortController();
      waiting.set(chunk, { stop, done: bring(chunk, stop) });
    }
    return waiting.get(chunk)?.done;
  }

  async function bring(chunk, stop) {
    try {
      const response = await fetch(url(chunk), { signal: stop.signal, credentials: "same-origin" });
      if (!response.ok) return;
      const html = await response.text();
      const before = chunk.getBoundingClientRect();
      chunk.innerHTML = html;
      chunk.dataset.count = chunk.dataset.lines;
      delete chunk.dataset.lines;
      chunk.style.minHeight = "";
      chunk.dataset.fetched = "";
      stay(chunk, before);
      changed(chunk);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    } finally {
      waiting.delete(chunk);
    }
  }

  /** Keeps what is read where it is, when a chunk above it is larger or smaller than the room that was kept for it. */
  function stay(chunk, before) {
    const edge = top(list);
    if (before.top >= edge || before.bottom > edge + ABOVE) return;
    (root ?? document.scrollingElement).scrollBy({ top: chunk.getBoundingClientRect().bottom - before.bottom, behavior: "instant" });
  }

  function drop(chunk) {
    if (chunk === wanted) return;
    waiting.get(chunk)?.stop.abort();
    if (chunk.dataset.fetched === undefined || chunk.contains(document.activeElement)) return;
    const selection = getSelection();
    if (selection.rangeCount && !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(chunk)) return;
    // The height that it had is the height that it keeps.
    const had = chunk.getBoundingClientRect().height;
    if (!had) return;
    chunk.style.minHeight = `${had}px`;
    chunk.dataset.lines = chunk.dataset.count;
    delete chunk.dataset.fetched;
    chunk.replaceChildren();
  }

  let root = null;
  let watch = null;
  /** The chunk of the place that was kept: far away until it is there and has been gone to. */
  let wanted = null;

  /** Looks at each chunk from where it can be seen: within the list, or within the window. */
  function look() {
    watch?.disconnect();
    root = scrolls(list);
    watch = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) load(entry.target);
        else drop(entry.target);
      }
    }, { root, rootMargin: `${NEAR} 0px` });
    for (const chunk of list.querySelectorAll(".chunk[data-from]")) watch.observe(chunk);
  }

  for (const chunk of list.querySelectorAll(".chunk[data-from]")) hold(chunk);
  look();
  // What scrolls depends on how wide the window is.
  addEventListener("resize", () => { if (scrolls(list) !== root) look(); });
  const place = `callsheet.place.${key}`;
  addEventListener("pagehide", () => keep(list, place, keeps()));
  const was = keptPlace(list, place);
  if (was) {
    [wanted] = was;
    back(list, was, load).finally(() => { wanted = null; });
  }
  return { watch: (chunk) => watch.observe(chunk), isBack: Boolean(was) };
}

/** Where the part of a list begins that can be seen. */
const top = (list) => (scrolls(list) ? list.getBoundingClientRect().top : document.querySelector(".bar").getBoundingClientRect().bottom);

/** Keeps the place of the reader: the chunk at the top, and how far into it. */
function keep(list, place, isWanted) {
  const from = top(list);
  const chunks = [...list.querySelectorAll(".chunk[data-from]")];
  const at = chunks.find((chunk) => chunk.getBoundingClientRect().bottom > from);
  const into = at ? from - at.getBoundingClientRect().top : 0;
  try {
    if (isWanted && at && (at !== chunks[0] || into > 0)) sessionStorage.setItem(place, JSON.stringify([at.dataset.from, Math.round(into)]));
    else sessionStorage.removeItem(place);
  } catch { /* Nothing is kept where nothing may be. */ }
}

/** Returns the chunk of the place that was kept and how far into it, after a reload or a step back; a link leads to what it names. */
function keptPlace(list, place) {
  if (performance.getEntriesByType("navigation")[0]?.type === "navigate") return null;
  try {
    const [from, into] = JSON.parse(sessionStorage.getItem(place)) ?? [];
    const chunk = from && list.querySelector(`.chunk[data-from="${CSS.escape(from)}"]`);
    return chunk ? [chunk, into] : null;
  } catch { return null; }
}

/** Goes back to a place. */
async function back(list, [chunk, into], load) {
  await load(chunk);
  const go = () => (scrolls(list) ?? document.scrollingElement).scrollBy({ top: chunk.getBoundingClientRect().top + into - top(list), behavior: "instant" });
  const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); });
  go();
  // What comes in above it moves it once more.
  await frame();
  await frame();
  go();
}
