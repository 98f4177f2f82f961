// The server's HTTP interface: JSON in and out, events as they come, the token where one is needed.

const TOKEN = "outcrop.token";

/** What the server refused, in its own words. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** @type {() => Promise<string | null>} */
let askForToken = async () => null;

/** @param {() => Promise<string | null>} ask opens the question for the token; null when it was left unanswered */
export function setTokenAsker(ask) {
  askForToken = ask;
}

/** @returns {string | null} */
export const getToken = () => sessionStorage.getItem(TOKEN);

/** @param {string} token */
export const setToken = (token) => sessionStorage.setItem(TOKEN, token);

/** Take a token out of `#token=…`, so that it does not stay in the address. */
export function takeTokenFromAddress() {
  const match = /^#token=([^&]*)(?:&(.*))?$/.exec(location.hash);
  if (!match) return;
  setToken(decodeURIComponent(match[1]));
  history.replaceState(null, "", location.pathname + (match[2] ? `#${match[2]}` : ""));
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function readError(response) {
  let code = "error";
  let message = `the server answered ${response.status}`;
  try {
    const body = await response.json();
    if (body.error) ({ code, message } = body.error);
  } catch {
    // No JSON: the status is all that is known.
  }
  return new ApiError(response.status, code, message);
}

/** @type {Promise<string | null> | null} several requests fail at once; the question is asked once */
let asking = null;

/**
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
async function send(method, path, body, signal) {
  const attempt = () => {
    /** @type {Record<string, string>} */
    const headers = { Accept: "application/json, text/event-stream" };
    const token = getToken();
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal });
  };
  let response;
  try {
    response = await attempt();
    while (response.status === 401) {
      asking ??= askForToken().finally(() => (asking = null));
      if ((await asking) === null) throw new ApiError(401, "unauthorized", "this server needs its token: reload the page to enter it");
      response = await attempt();
    }
  } catch (error) {
    if (error instanceof TypeError) throw new ApiError(0, "unreachable", "the server does not answer; is `outcrop serve` still running?");
    throw error;
  }
  if (!response.ok) throw await readError(response);
  return response;
}

/**
 * @param {string} method @param {string} path @param {unknown} [body] @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function call(method, path, body, signal) {
  const response = await send(method, path, body, signal);
  return response.status === 204 ? null : response.json();
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = (path, signal) => call("GET", path, undefined, signal);

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export const post = (path, body, signal) => call("POST", path, body, signal);

/**
 * A path with its query; empty values are left out.
 * @param {string} path @param {Record<string, string | number | boolean | null | undefined>} values
 */
export function withQuery(path, values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  return query.size ? `${path}?${query}` : path;
}

/**
 * Server-sent events over fetch, which can carry a token where EventSource cannot.
 * @param {string} method @param {string} path @param {unknown} body
 * @param {(name: string, data: any) => void} onEvent
 * @param {AbortSignal} [signal]
 */
export async function stream(method, path, body, onEvent, signal) {
  const response = await send(method, path, body, signal);
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      let name = "message";
      const data = [];
      for (const line of frame.split("\n")) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      }
      if (data.length) onEvent(name, JSON.parse(data.join("\n")));
    }
  }
}
