// What the search shows before anything is asked: examples made from the index, recent questions, collections, changes.

import { address } from "./address.js";
import { ago, fill, h, keep, kept, plural } from "./dom.js";

const KEY = "outcrop.recent";
const RECENT = 6;

/** Remember a question that was taken seriously: a hit was opened. @param {string} text */
export function noteQuestion(text) {
  if (text.trim()) keep(KEY, [text.trim(), ...kept(KEY, []).filter((/** @type {string} */ one) => one !== text.trim())].slice(0, RECENT));
}

/** @param {string} title @param {string} id @param {import("./dom.js").Child} items @param {string} [style] @param {import("./dom.js").Child} [action] */
const section = (title, id, items, style = "", action = null) =>
  h("section", { class: style, "aria-labelledby": id }, h("h2", { id }, title, action), h("ul", {}, items));

/** @param {string} to @param {string} name @param {string} [note] */
const line = (to, name, note) => h("li", {}, h("a", { href: to }, h("span", { class: "name", title: name }, name), note && h("span", { class: "quiet" }, note)));

/** A document and when it changed. @param {any} doc */
export const drawChanged = (doc) => line(address("library", { collection: doc.collection, document: doc.id }), doc.path, ago(doc.mtime_ns === null ? doc.updated_at : doc.mtime_ns / 1e9));

/** @param {HTMLElement} root @param {any} overview */
export function drawHome(root, overview) {
  const recent = kept(KEY, []);
  const collections = overview.facets.collections;
  fill(root,
    overview.examples.length > 0 && h("section", { class: "examples wide-part", "aria-label": "Examples" },
      h("ul", {}, overview.examples.map((/** @type {string} */ text) => line(address("search", { q: text }), text)))),
    recent.length > 0 && section("Recent questions", "home-recent", recent.map((/** @type {string} */ text) => line(address("search", { q: text }), text)), "",
      h("button", { type: "button", class: "ghost", onclick: () => { keep(KEY, []); drawHome(root, overview); } }, "Clear")),
    section("Collections", "home-collections", collections.slice(0, 8).map((/** @type {any} */ one) =>
      line(address("library", { collection: one.value }), one.value, plural(one.count, "document")))),
    section("Changed lately", "home-changed", overview.recent.map(drawChanged)));
}
