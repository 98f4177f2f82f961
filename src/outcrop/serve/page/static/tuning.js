// The sliders of a search. Their state is in the address; what is untouched is left out and the server decides.

import { change } from "./address.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { parseQuery } from "./query.js";

/** The sliders: parameter, words, range, what the server does when it is untouched, and what a value means. */
const SLIDERS = [
  { name: "balance", label: "Words ↔ meaning", min: 0, max: 1, step: 0.05, unset: 0.5, auto: "by the query",
    say: (/** @type {number} */ v) => (v === 0 ? "words only" : v === 1 ? "meaning only" : `${Math.round(v * 100)} % meaning`) },
  { name: "floor", label: "Floor (similarity, no shared word)", min: 0, max: 1, step: 0.01, unset: 0.25, auto: "0.25", say: (/** @type {number} */ v) => v.toFixed(2) },
  { name: "cutoff", label: "Cutoff (share of the best score)", min: 0, max: 1, step: 0.05, unset: 0, auto: "off", say: (/** @type {number} */ v) => v.toFixed(2) },
  { name: "follow", label: "Reference follow", min: 0, max: 4, step: 0.25, unset: 1, auto: "1", say: (/** @type {number} */ v) => (v === 0 ? "off" : `× ${v}`) },
];
const TUNED = [...SLIDERS.map((slider) => slider.name), "rerank"];

/** @param {URLSearchParams} params */
export const isTuned = (params) => TUNED.some((name) => params.has(name));

/** @param {URLSearchParams} params the same place with nothing tuned */
export function untuned(params) {
  const plain = new URLSearchParams(params);
  TUNED.forEach((name) => plain.delete(name));
  return plain;
}

/** @param {URLSearchParams} params @param {string} name */
const number = (params, name) => (params.has(name) && Number.isFinite(Number(params.get(name))) ? Number(params.get(name)) : undefined);

/** What is asked of /api/search and, without `limit`, of /api/context. @param {URLSearchParams} params @param {Record<string, readonly string[]>} [known] */
export function searchBody(params, known) {
  const { words, body } = parseQuery(params.get("q") ?? "", known);
  return { query: words, ...body, balance: number(params, "balance"), floor: number(params, "floor"), cutoff: number(params, "cutoff"),
    reference_follow: number(params, "follow"), rerank: params.has("rerank") ? true : undefined };
}

/** @param {any} status */
export function makeTuning(status) {
  /** @type {[any, HTMLInputElement, HTMLElement][]} */
  const rows = SLIDERS.map((slider) => {
    const said = h("output", { class: "said", for: `tune-${slider.name}` });
    const input = h("input", { type: "range", id: `tune-${slider.name}`, min: slider.min, max: slider.max, step: slider.step,
      oninput: (/** @type {any} */ e) => change({ [slider.name]: e.target.value }, { replace: true }) });
    return [slider, /** @type {HTMLInputElement} */ (input), said];
  });
  const rerank = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", id: "tune-rerank", disabled: !status.reranker,
    onchange: (/** @type {any} */ e) => change({ rerank: e.target.checked ? 1 : null }, { replace: true }) }));
  const reset = h("button", { type: "button", class: "small", onclick: () => change(Object.fromEntries(TUNED.map((name) => [name, null])), { replace: true }) }, "Reset");
  const element = h("details", { class: "facet tuning", "data-facet": "tune" },
    h("summary", {}, "Tune", icon("chevron")),
    h("div", { class: "menu sliders" },
      rows.map(([slider, input, said]) => h("div", { class: "slider" }, h("label", { for: input.id }, slider.label), said, input)),
      h("div", { class: "row between" }, h("span", {}, rerank, h("label", { for: "tune-rerank" },
        status.reranker ? "Rerank with the cross-encoder" : "Rerank: the extra mini is not installed here")), reset),
      h("p", { class: "quiet" }, "▲▼ beside a hit says how it moved against the usual order.")));
  return {
    element,
    /** @param {URLSearchParams} params */
    update(params) {
      const tuned = isTuned(params);
      element.classList.toggle("is-tuned", tuned);
      /** @type {HTMLButtonElement} */ (reset).disabled = !tuned;
      rerank.checked = params.has("rerank");
      for (const [slider, input, said] of rows) {
        const set = params.has(slider.name);
        const value = set ? Number(params.get(slider.name)) : slider.unset;
        if (Number(input.value) !== value) input.value = String(value);
        said.textContent = set ? slider.say(value) : slider.auto;
      }
    },
  };
}
