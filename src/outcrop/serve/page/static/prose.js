// What a model wrote, as elements: paragraphs, lists, headings, code. Little Markdown, by hand, never as HTML.

import { directed, runsFromRight } from "./directions.js";
import { h } from "./dom.js";

const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|[[【]\s*\d+(?:\s*[,;–-]\s*\d+)*\s*[\]】])/;
const WIDEST = 20; // `[2-4]` cites three; `[1-2024]` is a date

/** The numbers of a citation, ranges spelled out, as `chat/fence.py` reads them. @param {string} citation @returns {number[]} */
function numbersOf(citation) {
  return [...citation.matchAll(/(\d+)(?:\s*[–-]\s*(\d+))?/g)].flatMap(([, from, to]) => {
    const [first, last] = [Number(from), Number(to ?? from)];
    if (last < first || last >= first + WIDEST) return [first, last];
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

/**
 * @param {string} text one line or paragraph
 * @param {(number: number) => import("./dom.js").Child} cite what a citation becomes
 * @returns {import("./dom.js").Child[]}
 */
function drawInline(text, cite) {
  return text.split(INLINE).map((part) => {
    if (/^`.+`$/.test(part)) return h("code", {}, part.slice(1, -1));
    if (/^\*\*.+\*\*$/.test(part)) return h("strong", {}, drawInline(part.slice(2, -2), cite));
    if (/^[[【]\s*\d/.test(part)) return numbersOf(part).map(cite);
    return directed(part);
  });
}

/**
 * @param {string} text
 * @param {(number: number) => import("./dom.js").Child} cite
 * @returns {HTMLElement[]}
 */
export function drawProse(text, cite) {
  /** @type {HTMLElement[]} */
  const blocks = [];
  for (const [at, part] of text.split(/^```.*$/m).entries()) {
    if (at % 2) {
      blocks.push(h("pre", {}, part.replace(/^\n|\n$/g, "")));
      continue;
    }
    for (const paragraph of part.split(/\n\s*\n/)) {
      const lines = paragraph.split("\n").filter((line) => line.trim());
      if (!lines.length) continue;
      if (lines.every((line) => /^\s*(?:[-*•]|\d+[.)])\s/.test(line)))
        blocks.push(h("ul", { dir: runsFromRight(lines.join(" ")) && "rtl" }, lines.map((line) => h("li", {}, drawInline(line.replace(/^\s*[-*•]\s+/, ""), cite)))));
      else if (lines.length === 1 && /^#{1,6}\s/.test(lines[0])) blocks.push(h("p", {}, h("strong", {}, drawInline(lines[0].replace(/^#+\s+/, ""), cite))));
      else blocks.push(h("p", {}, drawInline(lines.join("\n"), cite)));
    }
  }
  return blocks;
}
