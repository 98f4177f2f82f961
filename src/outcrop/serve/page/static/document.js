// A document as the server rendered it, with the lines that matter marked and scrolled to.

import { get, withQuery } from "./api.js";
import { failure, fill, h, plural, waiting } from "./dom.js";
import { icon } from "./icons.js";
import { finder, rangesIn } from "./marks.js";
import { showPages } from "./pages.js";

/** What is shown as its pages, until somebody wants the text. */
const PICTURED = ["pdf", "image"];

/** @typedef {{document: any, line_start: number, line_end: number, why?: any}} Target */

/**
 * @param {HTMLElement} root @param {Target} target @param {AbortSignal} signal
 * @param {{at?: number, source?: boolean, refused?: string}} [how] `source` is the text of what can be shown otherwise, `refused` why it is not
 */
export async function showDocument(root, target, signal, { at = target.line_start, source = false, refused = "" } = {}) {
  fill(root, waiting("Opening"));
  let view;
  try {
    view = await get(withQuery(`/api/documents/${target.document.id}/view`, { at, source: source || null }), signal);
  } catch (error) {
    if (!signal.aborted) fill(root, failure(error));
    return;
  }
  if (signal.aborted) return;
  if (PICTURED.includes(view.kind) && !source) {
    await showPages(root, target, view, signal, (why) => showDocument(root, target, signal, { at, source: true, refused: why }));
    return;
  }
  // The one place where HTML is inserted: the server made it, from escaped text.
  const text = h("div", { class: `document ${view.form}${PICTURED.includes(view.kind) ? " paged" : ""}` });
  text.innerHTML = view.html;
  /** @param {string} words @param {{at?: number, source?: boolean}} to */
  const button = (words, to) => h("button", { type: "button", class: "small", onclick: () => showDocument(root, target, signal, { at, source, ...to }) }, words);
  const half = Math.floor((view.last_line - view.first_line) / 2);
  fill(root,
    h("div", { class: "document-info" },
      h("span", { class: "quiet" }, [view.language || view.kind, plural(view.lines, "line"), plural(view.chunks.length, "chunk")].join(" · ")),
      view.kind === "markdown" && (view.form === "markdown" ? button("As written", { source: true }) : button("Rendered", { source: false })),
      PICTURED.includes(view.kind) && !refused && button("As pages", { source: false })),
    refused && h("p", { class: "notice" }, `This is its text. The page as a picture: ${refused}`),
    view.first_line > 1 && button(`Earlier lines (shown from ${view.first_line})`, { at: Math.max(1, view.first_line - half) }),
    text,
    view.last_line < view.lines && button(`Later lines (shown to ${view.last_line} of ${view.lines})`, { at: view.last_line + half }));
  const own = view.form === "markdown" ? markBlocks(text, target.line_start, target.line_end) : markLines(text, target.line_start, target.line_end);
  if (target.why && "highlights" in CSS) addSteps(root, text, own, finder(target.why));
  const at_ = own[0]?.getBoundingClientRect();
  own[0]?.scrollIntoView({ block: at_ && at_.height > root.clientHeight * 0.8 || own.length > 12 ? "start" : "center" });
}

/**
 * Mark every match of the document, and let one step from each to the next, beginning in the passage.
 * @param {HTMLElement} root @param {HTMLElement} text @param {Element[]} own @param {import("./marks.js").Find} find
 */
function addSteps(root, text, own, find) {
  const ranges = rangesIn([text], find).slice(0, 2000);
  CSS.highlights.set("match", new Highlight(...ranges));
  CSS.highlights.delete("now");
  if (!ranges.length) return;
  let now = Math.max(0, ranges.findIndex((range) => own.some((element) => element.contains(range.startContainer)))) - 1;
  const said = h("span", { class: "quiet", "aria-live": "polite" }, plural(ranges.length, "match", "matches"));
  /** @param {number} by */
  const step = (by) => {
    now = (now + by + ranges.length) % ranges.length;
    CSS.highlights.set("now", new Highlight(ranges[now]));
    /** @type {Element | null} */ (ranges[now].startContainer.parentElement)?.scrollIntoView({ block: "center" });
    said.textContent = `${now + 1} of ${ranges.length}`;
  };
  root.querySelector(".document-info")?.append(h("span", { class: "steps" }, said,
    h("button", { type: "button", class: "ghost small", "aria-label": "Previous match", title: "Previous match (N)", onclick: () => step(-1) }, icon("back")),
    h("button", { type: "button", class: "ghost small", "aria-label": "Next match", title: "Next match (n)", onclick: () => step(1) }, icon("next"))));
  root.onkeydown = (event) => {
    if (event.key === "n" || event.key === "N") step(event.key === "n" ? 1 : -1);
  };
}

/** The lines that a block came from. @param {HTMLElement} block @returns {[number, number]} */
function linesOf(block) {
  const said = block.dataset.line ? block : /** @type {HTMLElement | null} */ (block.querySelector("[data-line]"));
  const first = Number(said?.dataset.line ?? 0);
  return [first, Number(said?.dataset.end ?? first)];
}

/**
 * Mark the blocks of a chunk as one stretch; of a block that is only partly in it, such as a long list, the parts.
 * @param {HTMLElement} root @param {number} first @param {number} last
 * @returns {Element[]}
 */
function markBlocks(root, first, last) {
  /** @type {Element[]} */
  const own = [];
  /** @type {HTMLElement | null} */
  let stretch = null;
  for (const block of /** @type {HTMLElement[]} */ ([...root.children])) {
    const [start, end] = linesOf(block);
    if (start >= first && end <= last) {
      if (!stretch) {
        stretch = h("div", { class: "stretch chunk-line" });
        block.before(stretch);
        own.push(stretch);
      }
      stretch.append(block);
      continue;
    }
    stretch = null;
    if (start <= last && end >= first) {
      const parts = markLines(block, first, last);
      own.push(...(parts.length ? parts : [block]));
      if (!parts.length) block.classList.add("chunk-line");
    }
  }
  return own;
}

/**
 * Mark the blocks or lines of a chunk: the innermost that say their lines.
 * @param {HTMLElement} root @param {number} first @param {number} last
 * @returns {Element[]}
 */
function markLines(root, first, last) {
  /** @type {Element[]} */
  const own = [];
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-line]"))) {
    const start = Number(element.dataset.line);
    const end = Number(element.dataset.end ?? start);
    if (start <= last && end >= first && !element.querySelector("[data-line]")) {
      element.classList.add("chunk-line");
      own.push(element);
    }
  }
  return own;
}
