// The packed context of a query: the very text an agent would get, its size, and what was joined, shortened, dropped.

import { post } from "./api.js";
import { directed } from "./directions.js";
import { copy, failure, fill, h, kept, keep, plural, waiting } from "./dom.js";
import { about, place } from "./hits.js";
import { searchBody } from "./tuning.js";
import { drawLeftOut } from "./why.js";

const SIZES = [300, 500, 800, 1200, 2000, 3000, 4000, 6000, 8000, 12000, 16000];
const KEY = "outcrop.context";

/** @param {HTMLElement} root @param {URLSearchParams} params @param {AbortSignal} signal */
export function showContext(root, params, signal) {
  const chosen = { budget: 1200, code: false, ...kept(KEY, {}) };
  const said = h("output", { class: "said", for: "budget" });
  const outcome = h("div", {});
  let runs = 0; // an answer to what was asked before the last change is dropped
  async function pack() {
    const run = ++runs;
    said.textContent = plural(chosen.budget, "token");
    keep(KEY, chosen);
    if (!outcome.childElementCount) fill(outcome, waiting("Packing"));
    try {
      const context = await post("/api/context", { ...searchBody(params), budget_tokens: chosen.budget, code: chosen.code, explain: chosen.code ? undefined : true }, signal);
      if (run === runs) fill(outcome, drawContext(context));
    } catch (error) {
      if (!signal.aborted && run === runs) fill(outcome, failure(error));
    }
  }
  fill(root, h("div", { class: "stack" },
    h("div", { class: "budget" }, h("label", { for: "budget" }, "Budget"), said,
      h("input", { type: "range", id: "budget", min: 0, max: SIZES.length - 1, step: 1, value: Math.max(0, SIZES.indexOf(chosen.budget)), "aria-valuetext": plural(chosen.budget, "token"),
        oninput: (/** @type {any} */ e) => { chosen.budget = SIZES[Number(e.target.value)]; e.target.setAttribute("aria-valuetext", plural(chosen.budget, "token")); pack(); } })),
    h("label", {}, h("input", { type: "checkbox", checked: chosen.code, onchange: (/** @type {any} */ e) => { chosen.code = e.target.checked; pack(); } }), "As code, following references"),
    outcome));
  pack();
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
  return h("div", { class: "stack" },
    h("div", { class: "row between" },
      h("p", {}, h("strong", {}, context.tokens.toLocaleString("en")), ` of ${plural(context.budget_tokens, "token")}, ${plural(context.sources.length, "source")}`),
      h("button", { type: "button", class: "primary", disabled: !context.text, onclick: () => copy(context.text, "Context copied") }, "Copy context")),
    h("progress", { max: 1, value: Math.min(1, context.tokens / context.budget_tokens), "aria-label": "Share of the budget used" }),
    (context.detail || (context.reason && !context.sources.length)) && h("p", { class: "notice warn" }, context.detail || context.reason),
    h("ol", { class: "packed" }, context.sources.map((/** @type {any} */ source) =>
      h("li", {}, h("span", { class: "badge" }, source.number), " ", h("span", { class: "source-about" }, directed(about(source.hit))), " ", h("span", { class: "mono quiet" }, place(source.hit)), " ",
        sourceNotes(source).map((note) => h("span", { class: "badge warn" }, note))))),
    h("pre", { class: "packed-text", tabindex: "0", role: "region", "aria-label": "Packed text" }, context.text),
    h("h3", {}, "Left out"), drawLeftOut(context.dropped));
}
