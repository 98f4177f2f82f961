// Results: hits grouped by document, matched words marked, each with its reasons in short.

import { address } from "./address.js";
import { h, plural } from "./dom.js";
import { bestLines, finder, marked } from "./marks.js";

const EXTRACTED = new Set(["html", "docx", "pptx", "xlsx", "epub", "notebook", "pdf"]);
const MATCH = { both: "words + meaning", keyword: "words", semantic: "meaning" };

/** Where a hit is in its document: `lines 12–30`, `page 3`. @param {any} hit */
export function spot(hit) {
  if (hit.page !== null) return `page ${hit.page}`;
  const lines = hit.line_end === hit.line_start ? `line ${hit.line_start}` : `lines ${hit.line_start}–${hit.line_end}`;
  return EXTRACTED.has(hit.document.kind) ? `text ${lines}` : lines;
}

/** Path with place, to copy: `notes/plan.md:12-30`. @param {any} hit */
export function place(hit) {
  if (hit.page !== null) return `${hit.document.path} p. ${hit.page}`;
  return `${hit.document.path}:${hit.line_start}${hit.line_end === hit.line_start ? "" : `-${hit.line_end}`}`;
}

/** What a hit is about: the symbol it declares, the headings it stands under, else its document. @param {any} hit */
export function about(hit) {
  if (hit.code?.symbol) return hit.code.symbol;
  if (hit.heading_path.length) return hit.heading_path.join(" › ");
  return hit.document.title || hit.document.path;
}

/** How a hit moved against the untuned order. @param {number | null | undefined} before @param {number} now counted from 1 */
function movement(before, now) {
  if (before === undefined) return null;
  if (before === null) return h("span", { class: "move up" }, "new");
  if (before === now) return h("span", { class: "move" }, "=");
  const up = before > now;
  return h("span", { class: `move ${up ? "up" : "down"}`, title: `was ${before}` },
    h("span", { "aria-hidden": "true" }, up ? "▲" : "▼"), h("span", { class: "visually-hidden" }, up ? "up by " : "down by "), Math.abs(before - now));
}

/**
 * @param {any} hit @param {number} rank counted from 1
 * @param {{params: URLSearchParams, open: string | null, before?: number | null, onRight: (hit: any, button: HTMLButtonElement) => void}} about_
 */
function drawHit(hit, rank, { params, open, before, onRight }) {
  const find = finder(hit.why);
  const lines = bestLines(hit.text, find);
  const id = String(hit.chunk_ids[0]);
  const to = new URLSearchParams(params);
  to.set("hit", id);
  to.delete("tab");
  const why = new URLSearchParams(to);
  why.set("tab", "why");
  return h("li", { class: "hit", "data-hit": id, "aria-current": open === id ? "true" : null },
    h("div", { class: "hit-head" },
      h("span", { class: "rank" }, rank), movement(before, rank),
      h("a", { class: "hit-link", href: address("search", to) }, about(hit)),
      h("span", { class: "score", title: `score ${hit.score.toFixed(3)}` }, hit.score.toFixed(2))),
    h("p", { class: "hit-meta" },
      h("span", { class: "mono" }, spot(hit)),
      h("span", { class: `badge leg-${hit.match_type}` }, MATCH[/** @type {keyof typeof MATCH} */ (hit.match_type)]),
      hit.code?.kind && h("span", { class: "badge" }, hit.code.kind),
      hit.stale && h("span", { class: "badge warn", title: "The file changed since it was indexed; sync to refresh" }, "stale"),
      hit.copies > 0 && h("span", { class: "badge", title: hit.also.map((/** @type {any} */ copy) => copy.place).join("\n") },
        `and ${plural(hit.copies, "more place")}`),
      hit.dirty && h("span", { class: "badge", title: "Not committed when it was indexed" }, "uncommitted"),
      h("span", { class: "hit-actions" },
        h("a", { href: address("search", why), class: "action" }, "why"),
        h("button", { type: "button", class: "ghost small", title: "Save this as the right answer, for Eval",
          onclick: (/** @type {Event} */ event) => onRight(hit, /** @type {HTMLButtonElement} */ (event.currentTarget)) }, "this one was right"))),
    h("pre", { class: hit.document.language ? "snippet code" : "snippet" }, marked(lines.text, find),
      lines.more > 0 && h("span", { class: "more" }, `\n… ${plural(lines.more, "more line")}`)));
}

/** Neighbours may be joined differently: a hit is the one that shares a chunk with it. @param {any} hit @param {Map<number, number>} before */
function rankBefore(hit, before) {
  const ranks = hit.chunk_ids.map((/** @type {number} */ id) => before.get(id)).filter(Boolean);
  return ranks.length ? Math.min(...ranks) : null;
}

/**
 * All hits, grouped by document in the order of each document's best hit.
 * @param {any[]} hits
 * @param {{params: URLSearchParams, before: Map<number, number> | null, onRight: (hit: any, button: HTMLButtonElement) => void}} options
 */
export function drawHits(hits, { params, before, onRight }) {
  const open = params.get("hit");
  /** @type {Map<number, {document: any, hits: [any, number][]}>} */
  const groups = new Map();
  hits.forEach((hit, at) => {
    const group = groups.get(hit.document.id) ?? { document: hit.document, hits: [] };
    group.hits.push([hit, at + 1]);
    groups.set(hit.document.id, group);
  });
  return [...groups.values()].map(({ document: doc, hits: own }) =>
    h("li", { class: "group" },
      h("div", { class: "group-head" },
        h("h3", { class: "mono path", title: doc.uri }, doc.path),
        h("span", { class: "quiet" }, `${doc.collection} · ${doc.language || doc.kind}`)),
      h("ol", {}, own.map(([hit, rank]) => drawHit(hit, rank, {
        params, open, onRight, before: before ? rankBefore(hit, before) : undefined })))));
}
