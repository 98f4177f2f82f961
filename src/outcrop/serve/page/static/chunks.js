// A document with its chunks drawn over it: the whole text in order, a rule and a label where each chunk begins.

import { get, withQuery } from "./api.js";
import { fill, h, plural, waiting } from "./dom.js";

const PAGE = 200;

/** @param {any} chunk @param {number} count */
function drawChunk(chunk, count) {
  const spot = chunk.page ? `page ${chunk.page}` : `lines ${chunk.line_start}–${chunk.line_end}`;
  const about = chunk.code?.symbol || chunk.headings.map((/** @type {string[]} */ path) => path.join(" › ")).join(" · ");
  return h("section", { class: "chunk", "aria-label": `Chunk ${chunk.index + 1} of ${count}` },
    h("p", { class: "chunk-label" }, h("span", { class: "chunk-number" }, chunk.index + 1), h("span", { class: "mono" }, spot),
      h("span", {}, plural(chunk.tokens, "token")), about && h("span", { class: "chunk-about" }, about)),
    h("pre", {}, chunk.text));
}

/**
 * @param {HTMLElement} root @param {any} doc @param {AbortSignal} signal
 */
export async function showChunks(root, doc, signal) {
  const list = h("div", { class: "chunks" });
  const more = h("div", {}, waiting("Reading"));
  fill(root, h("h3", {}, plural(doc.chunks, "chunk")), list, more);
  let offset = 0;
  async function next() {
    fill(more, waiting("Reading"));
    const { chunks } = await get(withQuery(`/api/documents/${doc.id}/chunks`, { offset, limit: PAGE }), signal);
    list.append(...chunks.map((/** @type {any} */ chunk) => drawChunk(chunk, doc.chunks)));
    offset += chunks.length;
    if (chunks.length && offset < doc.chunks) fill(more, h("button", { type: "button", onclick: next }, `Show more (${offset} of ${doc.chunks})`));
    else fill(more);
  }
  await next();
}
