// Elements by hand. Text is always a text node: nothing that came from an index is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

/**
 * @param {Element} element
 * @param {Child} child
 */
function append(element, child) {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) child.forEach((one) => append(element, one));
  else element.append(child instanceof Node ? child : String(child));
}

/**
 * @param {Element} element
 * @param {Record<string, unknown>} attributes `onclick` and the like are listeners; false and null leave one out
 */
function dress(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * An HTML element with its attributes and children.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  dress(element, attributes);
  append(element, children);
  return element;
}

/**
 * An SVG element with its attributes and children.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  dress(element, attributes);
  append(element, children);
  return element;
}

/**
 * Put these children, and only these, into an element.
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  const fresh = document.createDocumentFragment();
  children.flat(Infinity).forEach((child) => append(/** @type {any} */ (fresh), /** @type {Child} */ (child)));
  element.replaceChildren(fresh);
}

/** @param {string} words what is being waited for */
export const waiting = (words) => h("p", { class: "wait", role: "status" }, words);

/** @param {unknown} error shown where it belongs, in words */
export const failure = (error) =>
  h("p", { class: "notice bad", role: "alert" }, error instanceof Error ? error.message : String(error));

/** @param {number} count @param {string} one @param {string} [many] */
export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** @param {number} seconds since the epoch */
export const when = (seconds) =>
  new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Seconds since the epoch as "3 days ago". @param {number} seconds */
export function ago(seconds) {
  const past = Date.now() / 1000 - seconds;
  for (const [size, word] of /** @type {[number, string][]} */ ([[31536000, "year"], [2592000, "month"], [604800, "week"], [86400, "day"], [3600, "hour"], [60, "minute"]]))
    if (past >= size) return `${plural(Math.floor(past / size), word)} ago`;
  return "just now";
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;

/** Say something for a moment, with a way back where there is one. @param {string} words @param {(() => void) | null} [undo] */
export function toast(words, undo = null) {
  document.querySelector(".toast")?.remove();
  clearTimeout(fading);
  const note = h("div", { class: "toast", role: "status" }, h("span", {}, words),
    undo && h("button", { type: "button", onclick: () => { note.remove(); undo(); } }, "Undo"));
  document.body.append(note);
  fading = setTimeout(() => note.remove(), undo ? 8000 : 3000);
}

/** @param {string} text @param {string} words what is said when it is done */
export async function copy(text, words) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // only a page from this machine or over TLS may use the clipboard that way
    const area = /** @type {HTMLTextAreaElement} */ (h("textarea", { class: "visually-hidden" }, text));
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast(words);
}

/** A word that explains itself. @param {string} word @param {string} tip */
export const term = (word, tip) => h("span", { class: "term", tabindex: "0", "data-tip": tip }, word, h("span", { class: "visually-hidden" }, `: ${tip}`));

/** @param {string} key @param {any} fallback what was kept in this browser under a key */
export function kept(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") ?? fallback;
  } catch {
    return fallback; // not ours, or damaged: begin anew
  }
}

/** @param {string} key @param {unknown} value */
export const keep = (key, value) => localStorage.setItem(key, JSON.stringify(value));

/** @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
