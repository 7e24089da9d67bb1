// Ages and countdowns, which tick once a second by the clock of the server.

const ahead = Number(document.body.dataset.now || Date.now()) - Date.now();

/** The time of the server, in milliseconds since 1970. */
export const now = () => Date.now() + ahead;

/** How long something takes, as the server writes it: `41m`, `2h 6m`, `4m 10s`. */
export function span(millis) {
  const seconds = Math.floor(Math.max(millis, 0) / 1000);
  const two = (one, big, other, small) => (other ? `${one}${big} ${other}${small}` : `${one}${big}`);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 600) return two(Math.floor(seconds / 60), "m", seconds % 60, "s");
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400) return two(Math.floor(seconds / 3600), "h", Math.floor(seconds / 60) % 60, "m");
  return two(Math.floor(seconds / 86400), "d", Math.floor(seconds / 3600) % 24, "h");
}

function tick() {
  const at = now();
  for (const element of document.querySelectorAll("time[data-since], time[data-until]")) {
    const { since, until } = element.dataset;
    const text = until ? span(Number(until) - at) : span(at - Number(since));
    if (element.textContent !== text) element.textContent = text;
  }
}

export function startTicking() {
  tick();
  setInterval(tick, 1000);
}
