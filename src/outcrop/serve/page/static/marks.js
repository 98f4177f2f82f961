// Which words and phrases of a text a search matched, and where.

import { codeSpans, isolate } from "./directions.js";
import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const PARTS = /\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+/gu;
const ENDINGS = /(?:ations?|ingly|ings?|edly|ers?|ies|ied|ed|es|ly|s|e|y)$/;

const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}\p{sc=Laoo}\p{sc=Mymr}\p{sc=Khmr}ー]+/gu;
const IDEOGRAPHIC = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]/u;
const ACCENTS = /(?<=[\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}]\p{M}*)\p{M}|[\u0591-\u05c7\u064b-\u065f\u0670]/gu;

/** @typedef {(text: string) => [number, number][]} Find where matches stand in a text, in order */

/** The word without its ending: enough to mark its other forms; the server decides what matches. @param {string} word */
export function stem(word) {
  const lower = word.toLowerCase();
  const short = lower.replace(ENDINGS, "");
  return short.length >= 3 ? short : lower;
}

/** A word of another language without case, accents and points. @param {string} word */
const fold = (word) => word.normalize("NFKD").replace(ACCENTS, "").normalize("NFC").toLowerCase();

/** Whether two words of another language are forms of one: most of both is the same beginning. @param {string} one @param {string} other */
function areForms(one, other) {
  if (one === other) return true;
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  return same >= 4 && same >= 0.6 * Math.max(one.length, other.length);
}

/** The runs of two characters, or four of scripts with small letters, that say where unspaced words stand. @param {string[]} words */
function sharedRuns(words) {
  const runs = new Set();
  for (const run of words.flatMap((word) => word.match(UNSPACED) ?? [])) {
    const size = IDEOGRAPHIC.test(run) ? 2 : 4;
    for (let at = 0; at === 0 || at + size <= run.length; at++) {
      const cut = run.slice(at, at + size);
      if (run.length <= size || !/^\p{sc=Hira}+$/u.test(cut)) runs.add(cut);
    }
  }
  return runs.size ? new RegExp(`(?=(${[...runs].join("|")}))`, "gu") : null;
}

/** Stretches of shared runs, in order. @param {string} text @param {RegExp | null} runs @returns {[number, number][]} */
function runSpans(text, runs) {
  /** @type {[number, number][]} */
  const spans = [];
  for (const match of runs ? text.matchAll(runs) : []) {
    const [start, end] = [match.index, match.index + match[1].length];
    const last = spans.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else spans.push([start, end]);
  }
  return spans;
}

/** A quoted phrase: its words one after the other, whatever stands between them. @param {string} phrase */
function phrasePattern(phrase) {
  const words = phrase.match(WORD) ?? ["(?!)"]; // no word, nowhere
  return new RegExp(`(?<![\\p{L}\\p{N}])${words.join("[^\\p{L}\\p{N}]+")}(?![\\p{L}\\p{N}])`, "giu");
}

/**
 * @param {{matched_terms: string[], matched_phrases: string[], language?: string}} why as the answer has it
 * @returns {Find}
 */
export function finder(why) {
  const phrases = why.matched_phrases.map(phrasePattern);
  const stems = new Set(why.matched_terms.flatMap((term) => term.match(WORD) ?? []).map(stem));
  if (!stems.size && !phrases.length) return () => [];
  const other = why.language ? why.matched_terms.flatMap((term) => term.match(WORD) ?? []).map(fold) : [];
  const runs = sharedRuns(why.matched_terms);
  return (text) => {
    /** @type {[number, number][]} */
    const found = phrases.flatMap((phrase) =>
      [...text.matchAll(phrase)].map((match) => /** @type {[number, number]} */ ([match.index, match.index + match[0].length])));
    for (const match of text.matchAll(WORD)) {
      if (stems.has(stem(match[0])) || other.some((word) => areForms(word, fold(match[0])))) {
        found.push([match.index, match.index + match[0].length]);
        continue;
      }
      for (const part of match[0].matchAll(PARTS)) {
        if (part[0].length > 1 && part[0] !== match[0] && stems.has(stem(part[0])))
          found.push([match.index + part.index, match.index + part.index + part[0].length]);
      }
    }
    found.push(...runSpans(text, runs));
    if (!phrases.length && !runs) return found;
    found.sort(([start, end], [otherStart, otherEnd]) => start - otherStart || otherEnd - end);
    let shown = 0; // a word of a phrase is not marked again
    return found.filter(([start, end]) => start >= shown && ((shown = end), true));
  };
}

/**
 * A text as nodes: matches in <mark>, coloured stretches in <span class>, code in text from the right in <bdi>.
 * @param {string} text @param {Find} find @param {[number, number, string][]} [colours] in order
 * @returns {(Node | string)[]}
 */
export function painted(text, find, colours = []) {
  const marks = find(text);
  const apart = codeSpans(text);
  const cuts = [...new Set([0, text.length, ...marks.flat(), ...apart.flat(), ...colours.flatMap(([start, end]) => [start, end])])].sort((a, b) => a - b);
  /** @type {(Node | string)[]} */
  const whole = [];
  let nodes = whole;
  let [mark, colour] = [0, 0];
  for (let at = 0; at + 1 < cuts.length; at++) {
    const [start, end] = [cuts[at], cuts[at + 1]];
    const opens = apart.find(([from]) => from === start);
    if (opens) nodes = [];
    while (mark < marks.length && marks[mark][1] <= start) mark++;
    while (colour < colours.length && colours[colour][1] <= start) colour++;
    const isMark = mark < marks.length && marks[mark][0] <= start;
    const style = colour < colours.length && colours[colour][0] <= start ? colours[colour][2] : "";
    const last = nodes.at(-1);
    if (!isMark && !style) nodes.push(text.slice(start, end));
    else if (isMark && last instanceof HTMLElement && last.tagName === "MARK" && marks[mark][0] < start) last.textContent += text.slice(start, end);
    else nodes.push(h(isMark ? "mark" : "span", { class: isMark ? null : style }, text.slice(start, end)));
    if (nodes !== whole && apart.some(([, to]) => to === end)) {
      whole.push(isolate(...nodes));
      nodes = whole;
    }
  }
  return whole;
}

/**
 * Where words stand in elements, as ranges to highlight and to step through.
 * @param {Iterable<Element>} elements @param {Find} find
 * @returns {Range[]}
 */
export function rangesIn(elements, find) {
  const ranges = [];
  for (const element of elements) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const [start, end] of find(node.nodeValue ?? "")) {
        const range = new Range();
        range.setStart(node, start);
        range.setEnd(node, end);
        ranges.push(range);
      }
    }
  }
  return ranges;
}
