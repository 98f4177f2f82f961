// Results in the order of their scores, each with the lines that answer and what one can do with it.

import { address } from "./address.js";
import { directed } from "./directions.js";
import { copy, h, kept, plural } from "./dom.js";
import { drawExcerpt } from "./excerpt.js";
import { icon } from "./icons.js";
import { finder } from "./marks.js";

const PACKED = new Set(["doc", "docx", "ppt", "pptx", "xlsx", "odt", "odp", "epub", "pdf", "archive"]); // no editor of text opens these
const MADE = ["html", "notebook", "rtf", "mail", "mailbox", "chat", "issue", "note", "export", "calendar", "contacts", "session"];
const EXTRACTED = new Set([...PACKED, ...MADE]); // lines are those of the text made from it
const PAGE_WORDS = new Map([["xlsx", "sheet"], ["pptx", "slide"], ["ppt", "slide"], ["odp", "slide"]]);
const MATCH = { both: "words + meaning", keyword: "words", semantic: "meaning" };
const TOLD = { both: "Found by its words and by its meaning", keyword: "Found by its words alone", semantic: "Shares no word with the question; found by what it means" };
/** How an editor is told to open a file at a line. */
export const EDITORS = /** @type {Record<string, [string, (path: string, line: number) => string]>} */ ({
  vscode: ["VS Code", (path, line) => `vscode://file${path}:${line}`],
  cursor: ["Cursor", (path, line) => `cursor://file${path}:${line}`],
  zed: ["Zed", (path, line) => `zed://file${path}:${line}`],
  idea: ["IntelliJ IDEA", (path, line) => `idea://open?file=${path}&line=${line}`],
});

/** The name of the sheet that a hit is on; empty where it is on none. @param {any} hit */
const sheet = (hit) => (hit.document.kind === "xlsx" && hit.heading_path[0]) || "";

/** Where a hit is in its document: `lines 12–30`, `page 3`. @param {any} hit */
export function spot(hit) {
  if (sheet(hit)) return `sheet ${sheet(hit)}`;
  if (hit.page !== null) return `${PAGE_WORDS.get(hit.document.kind) ?? "page"} ${hit.page}`;
  if (hit.document.kind === "csv") return hit.line_end === hit.line_start ? `row ${hit.line_start}` : `rows ${hit.line_start}–${hit.line_end}`;
  const lines = hit.line_end === hit.line_start ? `line ${hit.line_start}` : `lines ${hit.line_start}–${hit.line_end}`;
  return EXTRACTED.has(hit.document.kind) ? `text ${lines}` : lines;
}

/** Path with place, to copy: `notes/plan.md:12-30`. @param {any} hit */
export function place(hit) {
  if (sheet(hit)) return `${hit.document.path} sheet ${sheet(hit)}`;
  if (hit.page !== null) return `${hit.document.path} ${PAGE_WORDS.get(hit.document.kind) ?? "p."} ${hit.page}`;
  return `${hit.document.path}:${hit.line_start}${hit.line_end === hit.line_start ? "" : `-${hit.line_end}`}`;
}

/** What a hit is about: the symbol it declares, the headings it stands under, else its document. @param {any} hit */
export function about(hit) {
  if (hit.code?.symbol) return hit.code.symbol;
  if (hit.heading_path.length) return hit.heading_path.join(" › ").replaceAll("`", "");
  return hit.document.title || hit.document.path;
}

/** The hit as a link for notes and messages. @param {any} hit */
function citation(hit) {
  const { uri, kind } = hit.document;
  const at = hit.page !== null ? `#page=${hit.page}` : EXTRACTED.has(kind) ? "" : `#L${hit.line_start}`;
  return `[${place(hit)}](${uri.startsWith("/") ? `file://${encodeURI(uri)}${at}` : uri})`;
}

/** The link that opens a file in the editor; null where it is on another machine, or nothing to edit. @param {any} hit */
export function editorLink(hit) {
  const here = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  if (!here || PACKED.has(hit.document.kind) || hit.document.origin !== "file" || !hit.document.uri.startsWith("/")) return null;
  const [, make] = EDITORS[kept("outcrop.editor", "vscode")] ?? EDITORS.vscode;
  return make(encodeURI(hit.document.uri), EXTRACTED.has(hit.document.kind) ? 1 : hit.line_start);
}

/** What can be copied of a hit, by key. */
export const COPIES = /** @type {Record<string, (hit: any) => Promise<void>>} */ ({
  c: (hit) => copy(hit.text, "Passage copied"),
  p: (hit) => copy(hit.document.uri.startsWith("/") ? hit.document.uri : place(hit), "Path copied"),
  m: (hit) => copy(citation(hit), "Citation copied, as a Markdown link"),
});

/** How a hit moved against the untuned order. @param {number | null | undefined} before @param {number} now counted from 1 */
function movement(before, now) {
  if (before === undefined) return null;
  if (before === null) return h("span", { class: "move up" }, "new");
  if (before === now) return h("span", { class: "move" }, "=");
  const up = before > now;
  return h("span", { class: `move ${up ? "up" : "down"}`, title: `was ${before}` },
    h("span", { "aria-hidden": "true" }, up ? "▲" : "▼"), h("span", { class: "visually-hidden" }, up ? "up by " : "down by "), Math.abs(before - now));
}

/** @param {string} name @param {string} words @param {() => void} act @param {boolean} [pressed] */
const action = (name, words, act, pressed) =>
  h("button", { type: "button", "aria-label": words, title: words, "aria-pressed": pressed === undefined ? null : String(pressed), onclick: act }, icon(name));

/** @typedef {{params: URLSearchParams, before: Map<number, number> | null, right: Set<string>, onRight: (hit: any) => void, onWrong: (hit: any) => void}} Drawing */

/** What one can do with a hit. @param {any} hit @param {string} whyAt @param {Drawing} drawing */
function drawActions(hit, whyAt, { right, onRight, onWrong }) {
  const editor = editorLink(hit);
  return h("span", { class: "hit-actions" },
    h("a", { href: whyAt, class: "action", "aria-label": "Why it stands here", title: "Why it stands here (w)" }, icon("why")),
    action("copy", "Copy the passage (c)", () => COPIES.c(hit)),
    action("link", "Copy the path (p)", () => COPIES.p(hit)),
    action("quote", "Copy a citation (m)", () => COPIES.m(hit)),
    editor && h("a", { href: editor, "aria-label": "Open in the editor", title: "Open in the editor (o)", class: "edit" }, icon("edit")),
    action("up", "Right answer: keep it as a case for Eval", () => onRight(hit), right.has(hit.document.uri)),
    action("down", "Not this one: hide it for this question", () => onWrong(hit)));
}

/** @param {any} hit @param {number} rank counted from 1 @param {Drawing} drawing @param {boolean} [grouped] */
function drawHit(hit, rank, drawing, grouped = false) {
  const { params, before } = drawing;
  const find = finder(hit.why);
  const id = String(hit.chunk_ids[0]);
  const to = new URLSearchParams(params);
  to.set("hit", id);
  to.delete("tab");
  const why = new URLSearchParams(to);
  why.set("tab", "why");
  const { document: doc, code } = hit;
  return h("li", { class: "hit", "data-hit": id, "aria-current": params.get("hit") === id ? "true" : null },
    h("div", { class: "hit-head" },
      before && movement(rankBefore(hit, before), rank),
      h("a", { class: "hit-link", href: address("search", to) }, directed(about(hit))),
      code?.kind && h("span", { class: "badge" }, code.kind),
      hit.stale && h("span", { class: "badge warn", title: "The file changed since it was indexed; sync to refresh" }, "stale"),
      hit.copies > 0 && h("span", { class: "badge", title: hit.also.map((/** @type {any} */ copyAt) => copyAt.place).join("\n") }, `and ${plural(hit.copies, "more place")}`),
      hit.dirty && h("span", { class: "badge", title: "Not committed when it was indexed" }, "uncommitted"),
      h("span", { class: "score", title: `Score ${hit.score.toFixed(3)}. ${TOLD[/** @type {keyof typeof TOLD} */ (hit.match_type)]}` }, hit.score.toFixed(2))),
    h("p", { class: "hit-meta" },
      !grouped && h("span", { class: "mono path", title: doc.uri }, doc.path), h("span", {}, spot(hit)), !grouped && h("span", {}, doc.collection),
      h("span", { class: "visually-hidden" }, `found by ${MATCH[/** @type {keyof typeof MATCH} */ (hit.match_type)]}`),
      drawActions(hit, address("search", why), drawing)),
    drawExcerpt(hit, find));
}

/** Neighbours may be joined differently: a hit is the one that shares a chunk with it. @param {any} hit @param {Map<number, number>} before */
function rankBefore(hit, before) {
  const ranks = hit.chunk_ids.map((/** @type {number} */ id) => before.get(id)).filter(Boolean);
  return ranks.length ? Math.min(...ranks) : null;
}

/** All hits, best first; or by document, in the order of each document's best hit. @param {any[]} hits @param {Drawing} drawing */
export function drawHits(hits, drawing) {
  if (!drawing.params.has("group")) return hits.map((hit, at) => drawHit(hit, at + 1, drawing));
  const groups = Map.groupBy(hits.map((hit, at) => ({ hit, rank: at + 1 })), ({ hit }) => hit.document.id);
  return [...groups.values()].map((own) => {
    const doc = own[0].hit.document;
    return h("li", { class: "group" },
      h("div", { class: "group-head" }, h("h3", { class: "mono path", title: doc.uri }, doc.path), h("span", { class: "quiet" }, `${doc.collection} · ${doc.language || doc.kind}`)),
      h("ol", {}, own.map(({ hit, rank }) => drawHit(hit, rank, drawing, true))));
  });
}
