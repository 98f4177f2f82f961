// Which way a text runs, and the stretches of code in one that runs from the right: brackets, dashes and slashes at the
// end of a name have no direction of their own. As on the server (`text/directions.py`).

import { h } from "./dom.js";

const FIRST_LETTER = /\p{L}/u;
const FROM_RIGHT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const RUN = /[!-~]+(?: [!-~]+)*/g;
/** @type {Record<string, string>} */
const PAIRS = { "(": ")", "[": "]", "{": "}", "<": ">" };
/** @type {Record<string, string>} */
const CLOSING = Object.fromEntries(Object.entries(PAIRS).map(([opening, closing]) => [closing, opening]));
const MAX_TRIMS = 8;

/** Whether a text as a whole runs from the right: its first letter decides. @param {string} text */
export const runsFromRight = (text) => FROM_RIGHT.test(text.match(FIRST_LETTER)?.[0] ?? "");

/** @param {string} text @param {string} opening @param {string} closing */
function isBalanced(text, opening, closing) {
  let depth = 0;
  for (const character of text) {
    depth += Number(character === opening) - Number(character === closing);
    if (depth < 0) return false;
  }
  return depth === 0;
}

/**
 * A stretch without what belongs to the sentence around it: full stops, quotes, brackets around it or without a partner,
 * and the hyphen that joins a Hebrew prefix to a name.
 * @param {string} text @param {number} start @param {number} end @returns {[number, number]}
 */
function trim(text, start, end) {
  if (start && text[start] === "-" && text[start + 1] !== "-" && /\p{L}/u.test(text[start - 1])) start++;
  for (let trims = 0; trims < MAX_TRIMS && start < end; trims++) {
    const [first, last] = [text[start], text[end - 1]];
    if (".,:;!?'\"".includes(last)) end--;
    else if ("'\"".includes(first)) start++;
    else if (PAIRS[first] === last && isBalanced(text.slice(start + 1, end - 1), first, last)) [start, end] = [start + 1, end - 1];
    else if (PAIRS[first] && !isBalanced(text.slice(start, end), first, PAIRS[first])) start++;
    else if (CLOSING[last] && !isBalanced(text.slice(start, end), CLOSING[last], last)) end--;
    else break;
  }
  return [start, end];
}

/** Where code stands in a text that runs from the right, in order; nowhere in one from the left. @param {string} text */
export function codeSpans(text) {
  if (!runsFromRight(text)) return [];
  return [...text.matchAll(RUN)].map((run) => trim(text, run.index, run.index + run[0].length))
    .filter(([start, end]) => /[a-z]/i.test(text.slice(start, end)));
}

/** Nodes kept apart from the text around them. @param {...(Node | string)} nodes */
export const isolate = (...nodes) => h("bdi", { dir: "ltr" }, nodes);

/** A text with the code in it kept apart. @param {string} text @returns {(Node | string)[]} */
export function directed(text) {
  /** @type {(Node | string)[]} */
  const nodes = [];
  let done = 0;
  for (const [start, end] of codeSpans(text)) {
    nodes.push(text.slice(done, start), isolate(text.slice(start, end)));
    done = end;
  }
  return [...nodes, text.slice(done)].filter((node) => node !== "");
}
