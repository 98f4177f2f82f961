// Why a hit stands where it stands: in one sentence first, then what made the score, then every number. And what did
// not make it into an answer.

import { post } from "./api.js";
import { capital, failure, fill, h, plural, svg, term, waiting } from "./dom.js";
import { about, place } from "./hits.js";
import { searchBody } from "./tuning.js";

const LEAST = 0.005; // a smaller contribution is not worth a word
const AFTER = new Set(["must", "preferred", "mentioned", "followed", "beside"]);
const TERMS = /** @type {Record<string, string>} */ ({
  words: "How well its words match the question's: rare words count more, and so do several together.",
  meaning: "How near the passage is to the question in meaning, as the embedding model sees it.",
  neighbours: "A good stretch of text is good around the hit too; a stray match is not.",
  covered: "How many of the question's words the best passages of this file hold between them.",
  standing: "How far up it stands in each of the two lists, by words and by meaning.",
  definition: "It declares a name that the question asks for.",
  quoted: "It holds, word for word, something that the question quotes.",
  "file name": "The file is called after something in the question.",
  "folder name": "A folder above it is called after something in the question.",
  "project name": "The question names the project that it belongs to.",
  coherence: "Several passages of this file match, so the file is about the question.",
  prose: "Documentation beside code, when the best of it matches better than any code.",
  guide: "A question about using a program is answered by its documentation.",
  links: "The best hits call it, inherit from it or import it.",
  role: "Tests, examples and generated files are held back unless the question asks for them.",
  header: "Imports and licences name everything and explain nothing.",
  repeats: "A better hit of the same file stands above.",
  rerank: "A second opinion by the cross-encoder.",
  place: "Its place in the answer.",
  score: "The chance that this is what was meant, from 0 to 1; it means the same for every question.",
  "rank by words": "Its place in the list made by words alone.",
  "rank by meaning": "Its place in the list made by meaning alone.",
  cosine: "How alike the vectors of question and passage are: 1 is the same, 0 unrelated.",
  "word score": "The BM25 score of its words.",
});

/**
 * The contributions of a hit, in the order in which they were added.
 * @param {any} why
 * @returns {{name: string, amount: number, kind: string}[]}
 */
export function contributions(why) {
  /** @param {any} boost */
  const kindOf = ({ name, amount }) => (amount < 0 ? "less" : /rerank/i.test(name) ? "rerank" : name === "links" ? "graph" : "boost");
  return [{ name: "words", amount: why.words, kind: "words" }, { name: "meaning", amount: why.meaning, kind: "meaning" },
    ...why.boosts.filter((/** @type {any} */ boost) => !AFTER.has(boost.name)).map((/** @type {any} */ boost) => ({ ...boost, kind: kindOf(boost) }))];
}

/** @param {string[]} parts */
const joined = (parts) => (parts.length < 3 ? parts.join(" and ") : `${parts.slice(0, -1).join(", ")}, and ${parts.at(-1)}`);

/** One sentence, perhaps two, in plain words. @param {any} hit */
export function sentenceOf(hit) {
  const { why, document: doc } = hit;
  const amounts = new Map(why.boosts.map((/** @type {any} */ boost) => [boost.name, boost.amount]));
  /** @param {string} name */
  const lifts = (name) => (amounts.get(name) ?? 0) > LEAST;
  const stem = doc.path.split("/").at(-1).replace(/\.[^.]*$/, "");
  const terms = why.matched_terms.slice(0, 3).map((/** @type {string} */ word) => `“${word}”`);
  const reasons = [
    why.matched_phrases.length > 0 && `it holds ${joined(why.matched_phrases.map((/** @type {string} */ phrase) => `“${phrase}”`))} word for word`,
    lifts("definition") && "named in the question",
    lifts("definition") && "declared here",
    lifts("quoted") && "it holds what the question quotes",
    !lifts("definition") && !why.matched_phrases.length && terms.length > 0 && `it speaks of ${joined(terms)}`,
    why.lexical_rank === null && "it says the same in other words",
    why.dense_rank !== null && why.lexical_rank !== null && why.meaning > why.words && "its meaning is near",
    lifts("file name") && `the file is called ${stem}`,
    lifts("project name") && "the question names its project",
    lifts("coherence") && "more of this file matches",
    lifts("links") && "the best hits use it",
    lifts("guide") && "it is documentation, which the question asks for",
  ].filter(Boolean).slice(0, 4);
  const against = [
    (amounts.get("role") ?? 0) < -LEAST && `it is ${doc.role === "test" ? "a test" : doc.role || "no part of the program itself"}`,
    (amounts.get("header") ?? 0) < -LEAST && "it is mostly imports",
    (amounts.get("repeats") ?? 0) < -LEAST && "a better hit of this file stands above",
  ].filter(Boolean);
  return `${capital(joined(/** @type {string[]} */ (reasons))) || "Near enough to the question to be shown"}.${against.length ? ` Held back because ${joined(/** @type {string[]} */ (against))}.` : ""}`;
}

/** Bars left and right of zero, one a contribution. @param {{name: string, amount: number, kind: string}[]} parts */
function drawParts(parts) {
  const most = Math.max(...parts.map((part) => Math.abs(part.amount)), 0.001);
  return h("ol", { class: "parts" }, parts.map((part) => h("li", {}, h("span", {}, term(part.name, TERMS[part.name] ?? "One of the signals of the ranking.")),
    svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: `part-${part.kind}`, x: 0, y: 1, width: Math.max((Math.abs(part.amount) / most) * 100, 0.8), height: 8, rx: 1 })),
    h("span", { class: "number" }, `${part.amount < 0 ? "−" : "+"}${Math.abs(part.amount).toFixed(3)}`))));
}

/** @param {string} name @param {import("./dom.js").Child} value */
const figure = (name, value) => h("div", {}, h("dt", {}, term(name, TERMS[name])), h("dd", {}, value));

/** @param {HTMLElement} root @param {any} hit @param {number} rank */
export function showWhy(root, hit, rank) {
  const { why } = hit;
  const matched = [...why.matched_phrases, ...why.matched_terms];
  const none = h("span", { class: "quiet" }, "not found");
  fill(root, h("div", { class: "stack why" },
    h("p", { class: "sentence" }, sentenceOf(hit)),
    matched.length > 0 && h("p", { class: "row" }, matched.map((/** @type {string} */ word) => h("span", { class: "badge" }, word))),
    hit.code?.summary && h("p", { class: "quiet" }, hit.code.summary),
    h("details", { class: "stack numbers" }, h("summary", { class: "quiet" }, "The numbers behind it"),
      h("div", { class: "stack" }, drawParts(contributions(why).filter((part) => Math.abs(part.amount) >= 0.0005)),
        h("p", { class: "quiet" }, `Together ${why.total.toFixed(3)}, which reads as a score of ${hit.score.toFixed(3)}.`),
        h("dl", { class: "figures" },
          figure("place", rank), figure("score", hit.score.toFixed(3)),
          figure("rank by words", why.lexical_rank ?? none), figure("rank by meaning", why.dense_rank ?? none),
          why.similarity !== null && figure("cosine", why.similarity.toFixed(3)),
          why.lexical_score !== null && figure("word score", why.lexical_score.toFixed(2))))),
    hit.chunk_ids.length > 1 && h("p", { class: "quiet" }, `${plural(hit.chunk_ids.length, "adjacent chunk")} joined into this hit.`),
    hit.revision && h("p", { class: "quiet" }, `Indexed at commit ${hit.revision.slice(0, 12)}${hit.dirty ? ", with changes not committed" : ""}.`)));
}

/** A candidate that is not in the answer. @param {any} item */
const drawLeft = ({ hit, reason, number }) =>
  h("li", { class: "left" },
    h("p", { class: "row" }, h("span", { class: "left-about" }, about({ ...hit, code: null })),
      h("span", { class: "badge warn" }, number === null ? reason : `${reason} ${number}`), h("span", { class: "score" }, hit.score.toFixed(2))),
    h("p", { class: "mono quiet path" }, place(hit)),
    h("p", { class: "left-text" }, hit.text.slice(0, 220)));

/** @param {any[]} items */
export const drawLeftOut = (items) =>
  items.length ? h("ol", { class: "stack" }, items.map(drawLeft)) : h("p", { class: "quiet" }, "Nothing was left out.");

/** @param {HTMLElement} root @param {URLSearchParams} params @param {AbortSignal} signal */
export async function showLeftOut(root, params, signal) {
  fill(root, waiting("Asking again, with reasons"));
  try {
    const answer = await post("/api/search", { ...searchBody(params), limit: 10, explain: true }, signal);
    const counts = [...Map.groupBy(answer.left_out, (/** @type {any} */ item) => (item.number === null ? item.reason : `${item.reason} another`))]
      .map(([reason, items]) => `${items.length} ${reason}`).join(", ");
    fill(root, h("div", { class: "stack" },
      h("p", { class: "quiet" }, `${plural(answer.left_out.length, "candidate")} considered and not shown${counts ? `: ${counts}` : ""}.`), drawLeftOut(answer.left_out)));
  } catch (error) {
    if (!signal.aborted) fill(root, failure(error));
  }
}
