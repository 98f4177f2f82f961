// The packed context of a query: the very text an agent would get, its size, and what was joined, shortened, dropped.

import { post } from "./api.js";
import { failure, fill, h, plural, waiting } from "./dom.js";
import { about, place } from "./hits.js";
import { searchBody } from "./tuning.js";
import { drawLeftOut } from "./why.js";

const BUDGETS = [500, 1200, 2000, 4000, 8000];
const KEY = "outcrop.budget";
let runs = 0; // an answer to what was asked before the last change is dropped

/** @param {HTMLElement} root @param {URLSearchParams} params @param {AbortSignal} signal */
export async function showContext(root, params, signal) {
  const run = ++runs;
  const budget = Number(sessionStorage.getItem(KEY) ?? 1200);
  const code = sessionStorage.getItem(`${KEY}.code`) === "1";
  /** @param {string} key @param {string} value */
  const again = (key, value) => {
    sessionStorage.setItem(key, value);
    showContext(root, params, signal);
  };
  const bar = h("div", { class: "row" },
    h("label", { for: "budget" }, "Budget"),
    h("select", { id: "budget", onchange: (/** @type {any} */ e) => again(KEY, e.target.value) },
      BUDGETS.map((size) => h("option", { value: size, selected: size === budget }, `${size.toLocaleString("en")} tokens`))),
    h("span", {}, h("input", { type: "checkbox", id: "as-code", checked: code, onchange: (/** @type {any} */ e) => again(`${KEY}.code`, e.target.checked ? "1" : "0") }),
      h("label", { for: "as-code" }, "as code, following references")));
  fill(root, bar, waiting("Packing"));
  try {
    const { floor, balance, rerank, cutoff, reference_follow, ...body } = searchBody(params);
    const tuned = { floor, balance, rerank, cutoff, reference_follow };
    const context = await post("/api/context", { ...body, ...tuned, budget_tokens: budget, code, explain: code ? undefined : true }, signal);
    if (run === runs) fill(root, bar, drawContext(context));
  } catch (error) {
    if (!signal.aborted && run === runs) fill(root, bar, failure(error));
  }
}

/** @param {any} source */
function sourceNotes(source) {
  const notes = [];
  if (source.hit.chunk_ids.length > 1) notes.push(`${source.hit.chunk_ids.length} chunks merged`);
  if (source.truncated) notes.push(source.whole_tokens ? `shortened from ${source.whole_tokens} to ${source.shown_tokens} tokens` : "shortened");
  return notes;
}

/** @param {any} context */
function drawContext(context) {
  const share = Math.min(1, context.tokens / context.budget_tokens);
  return h("div", { class: "stack" },
    h("p", {}, h("strong", {}, context.tokens.toLocaleString("en")), ` of ${plural(context.budget_tokens, "token")}, ${plural(context.sources.length, "source")}`),
    h("progress", { class: "meter", max: 1, value: share, "aria-label": "Share of the budget used" }),
    (context.detail || (context.reason && !context.sources.length)) && h("p", { class: "notice warn" }, context.detail || context.reason),
    h("ol", { class: "packed" }, context.sources.map((/** @type {any} */ source) =>
      h("li", {}, h("span", { class: "badge" }, source.number), " ", about(source.hit), " ", h("span", { class: "mono quiet" }, place(source.hit)),
        sourceNotes(source).map((note) => h("span", { class: "badge warn" }, note))))),
    h("h3", {}, "The text"),
    h("pre", { class: "packed-text", tabindex: "0", "aria-label": "Packed text" }, context.text),
    h("h3", {}, "Dropped"), drawLeftOut(context.dropped));
}
