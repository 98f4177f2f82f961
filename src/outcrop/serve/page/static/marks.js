// Which words and phrases of a text a search matched, and which lines of a hit to show.

const WORD = /[\p{L}\p{N}]+/gu;
const PARTS = /\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+/gu;
const ENDINGS = /(?:ations?|ingly|ings?|edly|ers?|ies|ied|ed|es|ly|s|e|y)$/;
const LINES = 5;
const LINE_CHARS = 260;

/** The word without its ending: enough to mark its other forms; the server decides what matches. @param {string} word */
function stem(word) {
  const lower = word.toLowerCase();
  const short = lower.replace(ENDINGS, "");
  return short.length >= 3 ? short : lower;
}

/** A quoted phrase: its words one after the other, whatever stands between them. @param {string} phrase */
function phrasePattern(phrase) {
  const words = phrase.match(WORD) ?? ["(?!)"]; // no word, nowhere
  return new RegExp(`(?<![\\p{L}\\p{N}])${words.join("[^\\p{L}\\p{N}]+")}(?![\\p{L}\\p{N}])`, "giu");
}

/**
 * @param {{matched_terms: string[], matched_phrases: string[]}} why as the answer has it
 * @returns {(text: string) => [number, number][]} where they stand in a text, in order
 */
export function finder(why) {
  const phrases = why.matched_phrases.map(phrasePattern);
  const stems = new Set(why.matched_terms.flatMap((term) => term.match(WORD) ?? []).map(stem));
  if (!stems.size && !phrases.length) return () => [];
  return (text) => {
    /** @type {[number, number][]} */
    const found = phrases.flatMap((phrase) =>
      [...text.matchAll(phrase)].map((match) => /** @type {[number, number]} */ ([match.index, match.index + match[0].length])));
    for (const match of text.matchAll(WORD)) {
      if (stems.has(stem(match[0]))) {
        found.push([match.index, match.index + match[0].length]);
        continue;
      }
      for (const part of match[0].matchAll(PARTS)) {
        if (part[0].length > 1 && part[0] !== match[0] && stems.has(stem(part[0])))
          found.push([match.index + part.index, match.index + part.index + part[0].length]);
      }
    }
    if (!phrases.length) return found;
    found.sort(([start, end], [otherStart, otherEnd]) => start - otherStart || otherEnd - end);
    let shown = 0; // a word of a phrase is not marked again
    return found.filter(([start, end]) => start >= shown && ((shown = end), true));
  };
}

/**
 * A text as nodes, matches in <mark>.
 * @param {string} text @param {(text: string) => [number, number][]} find
 * @returns {(Node | string)[]}
 */
export function marked(text, find) {
  const nodes = [];
  let at = 0;
  for (const [start, end] of find(text)) {
    if (start > at) nodes.push(text.slice(at, start));
    const mark = document.createElement("mark");
    mark.textContent = text.slice(start, end);
    nodes.push(mark);
    at = end;
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

/**
 * The few lines with the most phrases, and then those in which the most different words match.
 * @param {string} text @param {(text: string) => [number, number][]} find
 * @returns {{text: string, more: number}} what is shown, and how many lines follow
 */
export function bestLines(text, find) {
  const lines = text.split("\n").filter((line) => line.trim()).slice(0, 400); // blank lines would take the room of words
  const words = lines.map((line) => find(line.slice(0, 2000)).map(([start, end]) => line.slice(start, end).toLowerCase()));
  let best = 0;
  let bestScore = -1;
  for (let first = 0; first <= Math.max(0, lines.length - LINES); first++) {
    const inside = words.slice(first, first + LINES).flat();
    const different = new Set(inside);
    const phrases = [...different].filter((match) => /\s/.test(match)).length;
    const score = phrases * 1e6 + different.size * 100 + inside.length + (words[first + 1]?.length ? 0.5 : 0);
    if (score > bestScore) [best, bestScore] = [first, score];
  }
  if (!lines.length) return { text: "", more: 0 };
  const shown = lines.slice(best, best + LINES).map((line) => cutLine(line, find));
  const indents = shown.map((line) => line.length - line.trimStart().length);
  const indent = Math.min(...indents, 40);
  return { text: shown.map((line) => line.slice(indent)).join("\n"), more: lines.length - best - shown.length };
}

/** @param {string} line @param {(text: string) => [number, number][]} find */
function cutLine(line, find) {
  if (line.length <= LINE_CHARS) return line;
  const matches = find(line);
  const match = matches.find(([start, end]) => /\s/.test(line.slice(start, end))) ?? matches[0];
  const start = match && match[1] > LINE_CHARS ? Math.max(0, match[0] - LINE_CHARS / 4) : 0;
  return `${start ? "…" : ""}${line.slice(start, start + LINE_CHARS)}${start + LINE_CHARS < line.length ? "…" : ""}`;
}

/**
 * Mark words in elements without touching them; browsers that cannot show them unmarked.
 * @param {Iterable<Element>} elements @param {(text: string) => [number, number][]} find
 */
export function highlightIn(elements, find) {
  if (!("highlights" in CSS)) return;
  const ranges = [];
  for (const element of elements) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const [start, end] of find(node.nodeValue ?? "")) {
        const range = new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end });
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("match", new Highlight(...ranges));
}
