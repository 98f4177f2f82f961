// The lines of a hit that answer: code with its line numbers and colours, a table as a table, prose as prose. What lies
// between shown lines is marked as a gap.

import { colourSpans } from "./colour.js";
import { h, plural } from "./dom.js";
import { painted, stem } from "./marks.js";

const LINES = 5;
const PROSE = 4;
const LINE_CHARS = 340;
const CELLS = 8;
const SEPARATOR = /^[\s|:-]+$/;

/** @typedef {{number: number, text: string, start: number}} Line a line of a hit: its number in the document, where it begins in the hit */

/** @param {any} hit @returns {Line[]} */
function linesOf(hit) {
  let start = 0;
  return hit.text.split("\n").slice(0, 400).map((/** @type {string} */ text, /** @type {number} */ at) => {
    const line = { number: hit.line_start + at, text, start };
    start += text.length + 1;
    return line;
  });
}

/** The words that match in each line, and how much each counts there. @param {Line[]} lines @param {import("./marks.js").Find} find @param {string[] | null} headings */
function matchLines(lines, find, headings) {
  /** @type {Map<string, number>} */
  let above = new Map();
  return lines.map(({ text }) => {
    const words = find(text.slice(0, 2000)).map(([start, end]) => stem(text.slice(start, end)));
    if (headings && (/^\s*#{1,6}\s+\S/.test(text) || headings.includes(text.trim()))) {
      above = new Map([...above, ...words.map((word) => /** @type {[string, number]} */ ([word, 0.5]))]);
      return new Map(); // a heading says what follows: its words count for the line after it
    }
    const own = new Map([...above, ...words.map((word) => /** @type {[string, number]} */ ([word, 1]))]);
    above = new Map();
    return own;
  });
}

/**
 * The lines with the most phrases, then with the most telling words: those that few lines hold, and that the headings
 * above the passage do not say already. As in the terminal (`serve/excerpt.py`).
 * @param {Line[]} lines @param {import("./marks.js").Find} find @param {number} count @param {string[] | null} [headings] null for code
 * @returns {{best: number, tells: number[]}} the place of the first of them, and how telling each line is
 */
function bestWindow(lines, find, count, headings = null) {
  const matching = matchLines(lines, find, headings);
  const said = new Set((headings ?? []).flatMap((text) => find(text).map(([start, end]) => stem(text.slice(start, end)))));
  /** @type {Map<string, number>} */
  const often = new Map();
  for (const words of matching) for (const word of words.keys()) often.set(word, (often.get(word) ?? 0) + 1);
  /** @param {Map<string, number>} words */
  const weigh = (words) => [...words].reduce((sum, [word, share]) => sum + share * (said.has(word) ? 0.25 : 1) / (often.get(word) ?? 1), 0);
  let [best, bestScore] = [0, -1];
  for (let first = 0; first <= Math.max(0, lines.length - count); first++) {
    const inside = matching.slice(first, first + count);
    /** @type {Map<string, number>} */
    const held = new Map();
    for (const words of inside) for (const [word, share] of words) held.set(word, Math.max(share, held.get(word) ?? 0));
    const phrases = [...held.keys()].filter((match) => /\s/.test(match)).length;
    const matches = inside.reduce((sum, words) => sum + words.size, 0);
    const score = phrases * 1e6 + Math.round(weigh(held) * 1e3) + matches / 100 + (first === 0 ? 0.002 : 0) + (matching[first + 1]?.size ? 0.001 : 0);
    if (score > bestScore) [best, bestScore] = [first, score];
  }
  return { best, tells: matching.map(weigh) };
}

/** @param {string} line @param {import("./marks.js").Find} find */
function cutLine(line, find) {
  if (line.length <= LINE_CHARS) return line;
  const matches = find(line);
  const match = matches.find(([start, end]) => /\s/.test(line.slice(start, end))) ?? matches[0];
  const start = match && match[1] > LINE_CHARS ? Math.max(0, match[0] - LINE_CHARS / 4) : 0;
  return `${start ? "…" : ""}${line.slice(start, start + LINE_CHARS)}${start + LINE_CHARS < line.length ? "…" : ""}`;
}

/** @param {number} count */
const gap = (count) => h("div", { class: "gap" }, `⋯ ${plural(count, "line")}`);

/** A declaration's first line and the lines that match, with their numbers. @param {any} hit @param {import("./marks.js").Find} find */
function drawCode(hit, find) {
  const all = linesOf(hit);
  const lines = all.filter(({ text }) => text.trim());
  const colours = hit.text.length < 60_000 ? colourSpans(hit.text, hit.document.language) : [];
  const { best } = bestWindow(lines, find, LINES);
  const shown = lines.slice(best, best + LINES);
  const name = hit.code?.symbol?.split(".").at(-1);
  const head = name ? lines.findIndex(({ text }) => text.includes(name)) : -1;
  if (head >= 0 && head < best) shown.unshift(lines[head]); // the line that declares it
  const indent = Math.min(...shown.map(({ text }) => text.length - text.trimStart().length), 40);
  /** @type {Node[]} */
  const rows = [];
  shown.forEach((line, at) => {
    const before = at && line.number - shown[at - 1].number - 1;
    if (before && all.slice(shown[at - 1].number - hit.line_start + 1, line.number - hit.line_start).some(({ text }) => text.trim())) rows.push(gap(before));
    const whole = cutLine(line.text, find);
    const own = whole === line.text ? colours.filter(([start, end]) => end > line.start && start < line.start + line.text.length)
      .map(([start, end, style]) => /** @type {[number, number, string]} */ ([Math.max(start - line.start - indent, 0), Math.min(end - line.start, line.text.length) - indent, style])) : [];
    rows.push(h("div", { class: "ln", "data-n": line.number }, h("span", {}, painted(whole.slice(indent), find, own))));
  });
  const after = all.length - 1 - (shown.at(-1)?.number ?? hit.line_start) + hit.line_start;
  return h("div", { class: "excerpt code" }, rows, after > 0 && gap(after));
}

/** The cells of a line of a table, or null. @param {string} line @param {string} kind */
function cellsOf(line, kind) {
  if (kind === "csv") return [...line.matchAll(/("(?:[^"]|"")*"|[^,;\t]*)(?:[,;\t]|$)/g)].map(([, cell]) => cell.replace(/^"|"$/g, "").replaceAll('""', '"')).slice(0, -1);
  if (!/\S\s*\|\s*\S/.test(line)) return null;
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
}

/** Rows of a table that match, below its header. @param {Line[]} block @param {any} hit @param {import("./marks.js").Find} find */
function drawTable(block, hit, find) {
  const [head, ...body] = block;
  const { best: first } = bestWindow(body, find, LINES - 1);
  const rows = body.slice(first, first + LINES - 1);
  /** @param {Line} line @param {string} tag */
  const draw = (line, tag) => h("tr", {}, (cellsOf(line.text, hit.document.kind) ?? []).slice(0, CELLS).map((cell) => h(tag, tag === "th" ? { scope: "col" } : {}, painted(readable(cell).slice(0, 120), find))));
  return [h("table", {}, h("thead", {}, draw(head, "th")), h("tbody", {}, rows.map((row) => draw(row, "td")))),
    body.length > rows.length && h("div", { class: "gap" }, `⋯ ${plural(body.length - rows.length, "more row")}`)];
}

/** Markdown as one reads it: no marks of headings, emphasis and code, no comments, the words of a link. @param {string} text */
const readable = (text) => text.replace(/^\s*(#+|>|[-*+])\s+/, "").replaceAll("**", "").replace(/`([^`]+)`/g, "$1").replace(/<!--.*?-->/g, "").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");

/** Lines without the fields at the top of a Markdown file. @param {Line[]} lines */
function skipFrontMatter(lines) {
  if (lines[0]?.number !== 1 || lines[0].text.trim() !== "---") return lines;
  const end = lines.findIndex(({ text }, at) => at && /^(---|\.\.\.)\s*$/.test(text));
  return end < 0 || end + 1 === lines.length ? lines : lines.slice(end + 1);
}

/**
 * How a source of an answer begins, as one reads it, on one line: below the fields at its top, without marks.
 * @param {{text: string, kind: string, line_start: number}} source @param {number} most characters
 */
export function opening({ text, kind, line_start }, most) {
  if (kind !== "markdown") return text.slice(0, most);
  const lines = skipFrontMatter(linesOf({ text, line_start })).filter((line) => line.text.trim() && !/^(```|<!--.*-->\s*$)/.test(line.text) && !SEPARATOR.test(line.text));
  return lines.map((line) => readable(line.text).trim()).join(" ").slice(0, most);
}

/** @param {any} hit @param {import("./marks.js").Find} find */
export function drawExcerpt(hit, find) {
  const { kind, language } = hit.document;
  if (language) return drawCode(hit, find);
  const lines = skipFrontMatter(linesOf(hit)).filter(({ text }) => text.trim() && !/^(```|---\s*$|<!--.*-->\s*$)/.test(text) && !SEPARATOR.test(text));
  if (!lines.length) return h("div", { class: "excerpt" });
  const { best, tells } = bestWindow(lines, find, PROSE, [...hit.heading_path, hit.document.title]);
  const titles = [hit.heading_path.at(-1), hit.document.title];
  const said = lines.slice(best).filter(({ text }) => !titles.includes(readable(text).trim()));
  /** @param {Line} line */
  const tell = (line) => tells[lines.indexOf(line)];
  const top = said.slice(0, PROSE).reduce((one, other) => (tell(other) > tell(one) ? other : one), said[0]); // a row is shown in its table
  const row = [top, said[0]].find((line) => line && cellsOf(line.text, kind));
  const at = row ? lines.indexOf(row) : -1;
  if (at >= 0) {
    let [from, to] = [at, at + 1];
    while (from > 0 && cellsOf(lines[from - 1].text, kind)) from--;
    while (to < lines.length && cellsOf(lines[to].text, kind)) to++;
    if (to - from > 1) return h("div", { class: "excerpt" }, drawTable(lines.slice(from, to), hit, find));
  }
  const table = said.findIndex(({ text }, place) => place && cellsOf(text, kind));
  const shown = said.slice(0, table < 0 ? PROSE : Math.min(table, PROSE));
  const more = lines.length - lines.indexOf(shown.at(-1) ?? lines[0]) - 1;
  /** @type {string[]} lines that a writer broke are one paragraph again */
  const paragraphs = [];
  shown.forEach(({ text, number }, at) => {
    const goes = at && number === shown[at - 1].number + 1 && !/^\s*([-*+•]|\d+[.)])\s/.test(text);
    if (goes) paragraphs.push(`${paragraphs.pop()} ${readable(text).trim()}`);
    else paragraphs.push(readable(text).trim());
  });
  return h("div", { class: "excerpt" }, paragraphs.map((text) => h("p", {}, painted(cutLine(text, find), find))), more > 0 && gap(more));
}
