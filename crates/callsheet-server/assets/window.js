// Long lists in chunks: those near the window are asked for, those far away are let go, and the scroll bar stays true.

/** How far outside of the window chunks are kept. */
const NEAR = "1200px";

/** Returns what scrolls: the list itself, or the page. */
const scrolls = (list) => (/auto|scroll/.test(getComputedStyle(list).overflowY) && getComputedStyle(list).maxHeight !== "none" ? list : null);

/** Watches the chunks of a list; `url` says where the content of one is. */
export function windowed(list, url, changed = () => {}, row = 0) {
  const waiting = new Map();
  const height = row || Number.parseFloat(getComputedStyle(list).lineHeight) || 20;

  const hold = (chunk) => { if (chunk.dataset.lines) chunk.style.minHeight = `${Number(chunk.dataset.lines) * height}px`; };

  async function load(chunk) {
    if (waiting.has(chunk) || !chunk.dataset.lines) return;
    const stop = new AbortController();
    waiting.set(chunk, stop);
    try {
      const response = await fetch(url(chunk), { signal: stop.signal, credentials: "same-origin" });
      if (!response.ok) return;
      chunk.innerHTML = await response.text();
      chunk.dataset.count = chunk.dataset.lines;
      delete chunk.dataset.lines;
      chunk.style.minHeight = "";
      chunk.dataset.fetched = "";
      changed(chunk);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    } finally {
      waiting.delete(chunk);
    }
  }

  function drop(chunk) {
    waiting.get(chunk)?.abort();
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

  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) load(entry.target);
      else drop(entry.target);
    }
  }, { root: scrolls(list), rootMargin: `${NEAR} 0px` });

  for (const chunk of list.querySelectorAll(".chunk[data-from]")) {
    hold(chunk);
    watch.observe(chunk);
  }
  return { watch: (chunk) => watch.observe(chunk) };
}
