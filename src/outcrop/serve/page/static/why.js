// Why a hit stands where it stands, as numbers and as a small chart; and what did not make it.

import { post } from "./api.js";
import { failure, fill, h, plural, svg, waiting } from "./dom.js";
import { about, place } from "./hits.js";
import { searchBody } from "./tuning.js";

const GRAPH = /^links$|reference|graph/i; // the signal that follows references
const AFTER = new Set(["must", "preferred", "mentioned", "followed"]);

/**
 * The contributions of a hit, in the order in which they were added.
 * @param {any} why
 * @returns {{name: string, amount: number, kind: string}[]}
 */
export function contributions(why) {
  return [
    { name: "words", amount: why.words, kind: "words" },
    { name: "meaning", amount: why.meaning, kind: "meaning" },
    ...why.boosts.filter((/** @type {any} */ boost) => !AFTER.has(boost.name)).map((/** @type {any} */ boost) => ({
      name: boost.name, amount: boost.amount, kind: /rerank/i.test(boost.name) ? "rerank" : GRAPH.test(boost.name) ? "graph" : "boost" })),
  ];
}

/** Bars left and right of zero, one a contribution. @param {{name: string, amount: number, kind: string}[]} parts */
function drawBars(parts) {
  const row = 24;
  const [label, value, width] = [150, 60, 460];
  const most = Math.max(...parts.map((part) => Math.max(part.amount, 0)), 0.001);
  const least = Math.min(...parts.map((part) => part.amount), 0);
  const scale = (width - label - value) / (most - least);
  const zero = label - least * scale;
  const words = parts.map((part) => `${part.name} ${part.amount.toFixed(3)}`).join(", ");
  return svg("svg", { class: "bars", viewBox: `0 0 ${width} ${parts.length * row + 2}`, role: "img", "aria-label": `Contributions: ${words}` },
    parts.map((part, at) => {
      const size = Math.abs(part.amount) * scale;
      return svg("g", { transform: `translate(0 ${at * row})` },
        svg("text", { x: label - 8, y: 16, "text-anchor": "end" }, part.name),
        svg("rect", { class: `part-${part.kind}`, x: part.amount < 0 ? zero - size : zero, y: 4, width: Math.max(size, 1), height: 15, rx: 2 }),
        svg("text", { class: "figure", x: width, y: 16, "text-anchor": "end" }, `${part.amount < 0 ? "−" : "+"}${Math.abs(part.amount).toFixed(3)}`));
    }),
    svg("line", { class: "axis", x1: zero, x2: zero, y1: 0, y2: parts.length * row }));
}

/** @param {string} name @param {import("./dom.js").Child} value */
const figure = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

/** @param {HTMLElement} root @param {any} hit @param {number} rank */
export function showWhy(root, hit, rank) {
  const { why } = hit;
  const matched = [...why.matched_phrases, ...why.matched_terms];
  const none = h("span", { class: "quiet" }, "not found");
  fill(root, h("div", { class: "stack why" },
    h("dl", { class: "figures" },
      figure("place", rank), figure("score", hit.score.toFixed(3)),
      figure("rank by words", why.lexical_rank ?? none), figure("rank by meaning", why.dense_rank ?? none),
      why.similarity !== null && figure("cosine", why.similarity.toFixed(3)),
      why.lexical_score !== null && figure("word score", why.lexical_score.toFixed(2))),
    h("h3", {}, "What made the score"),
    drawBars(contributions(why)),
    h("p", { class: "quiet" }, `Together ${why.total.toFixed(3)}, which reads as a score of ${hit.score.toFixed(3)}.`),
    matched.length > 0 && [h("h3", {}, "Matched words"),
      h("p", { class: "row" }, matched.map((/** @type {string} */ term) => h("span", { class: "badge" }, term)))],
    hit.chunk_ids.length > 1 && h("p", {}, `${plural(hit.chunk_ids.length, "adjacent chunk")} joined into this hit.`),
    hit.code?.summary && [h("h3", {}, "What is known of it"), h("p", { class: "quiet" }, hit.code.summary)],
    hit.revision && h("p", { class: "quiet" }, `Indexed at commit ${hit.revision.slice(0, 12)}${hit.dirty ? ", with changes not committed" : ""}.`)));
}

/** A candidate that is not in the answer. @param {any} item */
const drawLeft = ({ hit, reason, number }) =>
  h("li", { class: "left" },
    h("p", { class: "row" }, h("strong", { class: "left-about" }, about({ ...hit, code: null })),
      h("span", { class: "badge warn" }, number === null ? reason : `${reason} ${number}`),
      h("span", { class: "score" }, hit.score.toFixed(2))),
    h("p", { class: "mono quiet" }, place(hit)),
    h("p", { class: "left-text" }, hit.text.slice(0, 220)));

/** @param {any[]} items */
export const drawLeftOut = (items) =>
  items.length ? h("ol", { class: "stack" }, items.map(drawLeft)) : h("p", { class: "quiet" }, "Nothing was left out.");

/** @param {HTMLElement} root @param {URLSearchParams} params @param {AbortSignal} signal */
export async function showLeftOut(root, params, signal) {
  fill(root, waiting("Asking again, with reasons"));
  try {
    const answer = await post("/api/search", { ...searchBody(params), limit: 10, explain: true }, signal);
    const counts = Object.entries(Object.groupBy(answer.left_out, (/** @type {any} */ item) => (item.number === null ? item.reason : `${item.reason} another`)))
      .map(([reason, items]) => `${items?.length} ${reason}`).join(", ");
    fill(root, h("div", { class: "stack" },
      h("p", { class: "quiet" }, `${plural(answer.left_out.length, "candidate")} considered and not shown${counts ? `: ${counts}` : ""}.`), drawLeftOut(answer.left_out)));
  } catch (error) {
    if (!signal.aborted) fill(root, failure(error));
  }
}
