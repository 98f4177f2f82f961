// The keys that work everywhere, and the sheet that lists them all.

import { h, keep, kept } from "./dom.js";
import { EDITORS } from "./hits.js";

const SHEET = [
  [["/"], "search"],
  [["↓", "↑"], "next, previous hit (j, k)"],
  [["Enter"], "open the hit"],
  [["w"], "why it stands there"],
  [["c", "p", "m"], "copy the passage, the path, a citation"],
  [["o"], "open in the editor"],
  [["x"], "the context of the question"],
  [["n", "N"], "next, previous match in a document"],
  [["←", "→"], "previous, next page of a PDF"],
  [["Tab"], "take a completion in the box"],
  [["Esc"], "close what is open; back to the search"],
  [["g", "s"], "search; g l library, g m map, g c chat, g e eval"],
  [["?"], "this list"],
];

/** Typing into one of these is typing, not a command. @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName)
    || (target instanceof HTMLInputElement && !/^(checkbox|radio|range|button)$/.test(target.type)));

export function showKeys() {
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-labelledby": "keys-title" },
    h("form", { method: "dialog", class: "stack" },
      h("h2", { id: "keys-title" }, "Keys and settings"),
      h("dl", { class: "keys" }, SHEET.map(([keys, words]) => [
        h("dt", {}, /** @type {string[]} */ (keys).map((key) => h("kbd", {}, key))), h("dd", {}, /** @type {string} */ (words))])),
      h("div", { class: "row between" }, h("label", { for: "editor" }, "Files open in"),
        h("select", { id: "editor", onchange: (/** @type {any} */ e) => keep("outcrop.editor", e.target.value) },
          Object.entries(EDITORS).map(([name, [words]]) => h("option", { value: name, selected: kept("outcrop.editor", "vscode") === name }, words))),
        h("button", { class: "primary" }, "Close")))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * @param {{views: Record<string, string>, visit: (name: string) => void, focusSearch: () => void, escape: () => boolean}} actions
 */
export function startKeys({ views, visit, focusSearch, escape }) {
  let afterG = 0;
  document.getElementById("help")?.addEventListener("click", showKeys);
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      if (escape()) event.preventDefault();
      return;
    }
    if (isTyping(event.target)) return;
    if (event.timeStamp - afterG < 1200 && Object.hasOwn(views, event.key)) {
      event.preventDefault();
      visit(views[event.key]);
    } else if (event.key === "/") {
      event.preventDefault();
      focusSearch();
    } else if (event.key === "?") {
      event.preventDefault();
      showKeys();
    }
    afterG = event.key === "g" ? event.timeStamp : -Infinity;
  });
}
