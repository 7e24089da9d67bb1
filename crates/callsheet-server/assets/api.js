// The REST interface: one way to ask, and one kind of error.

/** What the server refused, in its own words. */
export class Refused extends Error {
  constructor(status, code, message, hints) {
    super(message);
    this.status = status;
    this.code = code;
    this.hints = hints;
  }
}

/** Asks the server, and returns the `data` of its answer. */
export async function ask(method, url, body) {
  const options = { method, headers: { accept: "application/json" }, credentials: "same-origin" };
  if (body !== undefined && body !== null) {
    options.headers["content-type"] = "application/json";
    options.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(url, options);
  } catch {
    throw new Refused(0, "", "The server cannot be reached.", []);
  }
  const text = await response.text();
  let answer = null;
  try { answer = text ? JSON.parse(text) : null; } catch { /* Not an answer of ours. */ }
  if (response.ok) return answer?.data ?? answer;
  const error = answer?.error ?? {};
  throw new Refused(response.status, error.code ?? "", error.message ?? `the server answered ${response.status}`, error.details?.hints ?? []);
}
