// Pages of a PDF as they look, with the passage and the words that match marked on them.

import { ApiError, get, withQuery } from "./api.js";
import { failure, fill, h, plural, svg, waiting } from "./dom.js";
import { icon } from "./icons.js";
import { finder } from "./marks.js";

/** @typedef {{text: string, x: number, y: number, width: number, height: number, marked: boolean}} Word */
/** @typedef {{x: number, y: number, width: number, height: number}} Box */

/** The box around boxes. @param {Box[]} boxes @returns {Box} */
function around(boxes) {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  return { x, y, width: Math.max(...boxes.map((box) => box.x + box.width)) - x, height: Math.max(...boxes.map((box) => box.y + box.height)) - y };
}

/** Words by the line they stand on. @param {Word[]} words @returns {Word[][]} */
function linesOf(words) {
  /** @type {Word[][]} */
  const lines = [];
  for (const word of words) {
    const last = lines.at(-1)?.at(-1);
    const goesOn = last && word.x >= last.x && Math.abs(word.y + word.height / 2 - last.y - last.height / 2) < Math.min(word.height, last.height) / 2;
    if (goesOn) lines.at(-1)?.push(word);
    else lines.push([word]);
  }
  return lines;
}

/** Where matches stand: the boxes of the words that each touches, those on one line together. @param {Word[]} words @param {import("./marks.js").Find} find */
function matchesOn(words, find) {
  let length = 0;
  const starts = words.map((word) => (length += word.text.length + 1) - word.text.length - 1);
  return find(words.map((word) => word.text).join(" ")).flatMap(([start, end]) =>
    linesOf(words.filter((word, at) => starts[at] < end && starts[at] + word.text.length > start)).map(around));
}

/** @param {Box} box @param {string} kind */
const rect = ({ x, y, width, height }, kind) => svg("rect", { class: kind, x, y, width, height });

/**
 * @param {HTMLElement} root @param {import("./document.js").Target} target @param {any} view the document as text
 * @param {AbortSignal} signal @param {(why: string) => void} showText shows the text instead, and why there is no picture
 */
export async function showPages(root, target, view, signal, showText) {
  const find = target.why ? finder(target.why) : () => [];
  const [told, count, sheet] = [h("span", { class: "quiet", "aria-live": "polite" }), h("span", { class: "quiet" }), h("div", { class: "sheet" })];
  /** @type {SVGElement[]} */
  let matches = [];
  let [page, pages, match] = [view.chunks.find((/** @type {any} */ chunk) => chunk.page && chunk.line_end >= target.line_start)?.page ?? 1, Infinity, -1];
  const back = h("button", { type: "button", class: "ghost small", "aria-label": "Previous page", title: "Previous page (←)", onclick: () => show(page - 1) }, icon("left"));
  const next = h("button", { type: "button", class: "ghost small", "aria-label": "Next page", title: "Next page (→)", onclick: () => show(page + 1) }, icon("right"));
  fill(root, h("div", { class: "document-info" }, told, count, h("span", { class: "steps" }, back, next),
    h("button", { type: "button", class: "small", onclick: () => showText("") }, "As text")), sheet);

  /** @param {number} to */
  async function show(to) {
    if (to < 1 || to > pages) return;
    const width = Math.min(2000, Math.max(600, Math.ceil(sheet.clientWidth * devicePixelRatio / 100) * 100));
    if (!sheet.childElementCount) fill(sheet, waiting("Drawing the page"));
    let picture;
    try {
      picture = await get(withQuery(`/api/documents/${target.document.id}/pages/${to}`, { line_start: target.line_start, line_end: target.line_end, width }), signal);
    } catch (error) {
      if (signal.aborted) return;
      if (sheet.querySelector("img")) fill(sheet, failure(error));
      else showText(error instanceof ApiError ? error.message : String(error));
      return;
    }
    if (signal.aborted) return;
    [page, pages, match] = [to, picture.pages, -1];
    draw(picture);
  }

  /** @param {any} picture */
  function draw(picture) {
    const own = linesOf(picture.words.filter((/** @type {Word} */ word) => word.marked)).map((line) => rect(around(line), "own"));
    matches = matchesOn(picture.words, find).map((box) => rect(box, "match"));
    fill(sheet, h("img", { src: picture.image, width: picture.width, height: picture.height, alt: `Page ${page} as a picture; “As text” shows its words` }),
      svg("svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" }, own, matches));
    told.textContent = `Page ${page} of ${pages}`;
    count.textContent = matches.length ? plural(matches.length, "match", "matches") : "";
    [back, next].forEach((button, at) => button.toggleAttribute("disabled", page === [1, pages][at]));
    (matches.find((box) => own.some((line) => overlaps(box, line))) ?? own[0])?.scrollIntoView({ block: "center" });
  }

  root.onkeydown = (event) => {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") show(page + (event.key === "ArrowRight" ? 1 : -1));
    else if ((event.key === "n" || event.key === "N") && matches.length) {
      match = (match + (event.key === "n" ? 1 : -1) + matches.length) % matches.length;
      matches.forEach((box, at) => box.classList.toggle("now", at === match));
      matches[match].scrollIntoView({ block: "center" });
      count.textContent = `${match + 1} of ${matches.length}`;
    }
  };
  await show(page);
}

/** @param {SVGElement} one @param {SVGElement} other */
function overlaps(one, other) {
  const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
  return a.top < b.bottom && a.bottom > b.top && a.left < b.right && a.right > b.left;
}
