// The box that everything starts from: a question, filters in it, completed while one types.

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { complete } from "./query.js";

/** @param {(text: string) => void} onText @param {() => void} onEnter */
export function makeBox(onText, onEnter) {
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "search", id: "query", class: "query", "aria-label": "Search", role: "combobox", "aria-expanded": "false",
    "aria-controls": "completions", "aria-autocomplete": "list", placeholder: "Ask anything, or narrow it: kind:pdf since:1w \"exact words\"", autocomplete: "off", spellcheck: "false", enterkeyhint: "search" }));
  const list = h("ul", { class: "completions", id: "completions", role: "listbox", "aria-label": "Completions", hidden: true });
  const element = h("form", { class: "ask", role: "search", onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); onEnter(); } },
    h("div", { class: "box" }, icon("search"), input, h("kbd", { "aria-hidden": "true" }, "/"), list));
  /** @type {Record<string, {value: string, count: number}[]>} */
  let facets = {};
  /** @type {ReturnType<typeof complete>} */
  let offer = { start: 0, end: 0, choices: [] };
  let chosen = 0;

  function draw() {
    list.hidden = !offer.choices.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (list.hidden) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `completion-${chosen}`);
    fill(list, offer.choices.map(({ text, note }, at) => h("li", { role: "option", id: `completion-${at}`, "aria-selected": String(at === chosen),
      onmousedown: (/** @type {Event} */ e) => { e.preventDefault(); chosen = at; accept(); } }, h("span", {}, text), h("span", { class: "quiet" }, note))));
  }

  function accept() {
    const { text } = offer.choices[chosen];
    input.setRangeText(text.endsWith(":") ? text : `${text} `, offer.start, offer.end, "end");
    close();
    onText(input.value);
  }

  function close() {
    offer = { start: 0, end: 0, choices: [] };
    draw();
  }

  input.addEventListener("input", () => {
    offer = complete(input.value, input.selectionStart ?? input.value.length, facets);
    chosen = 0;
    draw();
    onText(input.value);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      chosen = (chosen + step + offer.choices.length) % offer.choices.length;
      draw();
    } else if (event.key === "Tab" || event.key === "Enter") accept();
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { element, input, /** @param {typeof facets} found */ setFacets: (found) => { facets = found; } };
}
