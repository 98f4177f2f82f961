// The state of a view lives in the address: `#/search?q=retry&hit=12`. A view can be linked to, and Back works.

/** @typedef {{view: string, params: URLSearchParams}} Place */

/** @returns {Place} */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || "search", params: new URLSearchParams(query) };
}

/**
 * @param {string} view
 * @param {URLSearchParams | Record<string, string | number | null | undefined>} [params] empty values are left out
 */
export function address(view, params = {}) {
  const query = new URLSearchParams();
  const entries = params instanceof URLSearchParams ? params : Object.entries(params);
  for (const [name, value] of entries) if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  return `#/${view}${query.size ? `?${query}` : ""}`;
}

/** @type {() => void} */
let arrived = () => {};

/** @param {() => void} handler called whenever the address changed */
export function onArrival(handler) {
  arrived = handler;
  addEventListener("hashchange", () => arrived());
}

/**
 * Go to a place. `replace` for what is typed or dragged: each letter is not a step for Back.
 * @param {string} to @param {{replace?: boolean}} [how]
 */
export function go(to, { replace = false } = {}) {
  if (to === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  arrived();
}

/**
 * Change some parameters of this place.
 * @param {Record<string, string | number | null | undefined>} changes null or empty takes one away
 * @param {{replace?: boolean}} [how]
 */
export function change(changes, how) {
  const { view, params } = here();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") params.delete(name);
    else params.set(name, String(value));
  }
  go(address(view, params), how);
}
