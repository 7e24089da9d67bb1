// Changes a part of the page into its newer form, and keeps what the reader did: focus, typed text, open parts, scroll.

/** What the reader or a script of ours has set: never taken from the server. */
const KEPT = new Set(["open", "aria-selected", "data-mine", "aria-expanded", "aria-busy"]);

/** Changes the children of `from` into those of `to`. */
export function morph(from, to) {
  if (from.hasAttribute("data-mine")) return;
  const keyed = new Map();
  for (const child of from.children) {
    const key = keyOf(child);
    if (key) keyed.set(key, child);
  }
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    while (at && stays(at)) at = at.nextSibling;
    const key = wanted.nodeType === 1 ? keyOf(wanted) : null;
    const found = key ? keyed.get(key) : at && sameKind(at, wanted) ? at : null;
    if (!found) {
      from.insertBefore(wanted, at);
      if (key) mark(wanted);
      continue;
    }
    if (key) keyed.delete(key);
    if (found === at) at = at.nextSibling;
    else from.insertBefore(found, at);
    change(found, wanted);
  }
  while (at) {
    const next = at.nextSibling;
    if (!stays(at)) at.remove();
    at = next;
  }
}

/** What a script of ours has put there, such as an error that the reader has not dealt with. */
const stays = (node) => node.nodeType === 1 && node.hasAttribute("data-stays");

const keyOf = (element) => element.dataset?.item ?? element.id ?? "";

const sameKind = (one, other) =>
  one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.nodeType !== 1 || (!keyOf(one) && !keyOf(other)));

/** Changes a node into another one of the same kind. */
export function change(node, wanted) {
  if (node.nodeType !== 1) {
    if (node.nodeValue !== wanted.nodeValue) node.nodeValue = wanted.nodeValue;
    return;
  }
  if (node.nodeName !== wanted.nodeName) {
    node.replaceWith(wanted);
    return;
  }
  if (node.isEqualNode(wanted)) return;
  for (const { name } of [...node.attributes]) {
    if (!KEPT.has(name) && !wanted.hasAttribute(name)) node.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (!KEPT.has(name) && node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  // What is typed is the reader's until it is sent.
  if (node.matches("input, textarea, select")) return;
  morph(node, wanted);
}

/** Marks a row that is new. */
function mark(element) {
  element.classList.add("fresh");
  setTimeout(() => element.classList.remove("fresh"), 2000);
}
