// The facets below the box: what there is, how much of it, one click to narrow the search. A click writes into the box.

import { change, here } from "./address.js";
import { post } from "./api.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { FILTERS, parseQuery, toggleFilter } from "./query.js";

const NAMES = /** @type {Record<string, string>} */ ({ in: "Collection", kind: "Kind", lang: "Language", path: "Folder", tag: "Tag", ref: "Branch", worktree: "Worktree", since: "Date" });
const DATES = /** @type {Record<string, string>} */ ({ "1d": "Last day", "1w": "Last week", "30d": "Last month", "1y": "Last year" });

/** The names that a filter may still become while it is typed. @param {any} overview @returns {Record<string, string[]>} */
export const knownNames = (overview) =>
  Object.fromEntries(["collections", "refs", "worktrees"].map((facet) => [facet, overview.facets[facet].map((/** @type {any} */ one) => one.value)]));

/** @param {any} overview of the whole index @param {HTMLElement} tuning what stands at the end of the row */
export function makeFacets(overview, tuning) {
  const element = h("div", { class: "facets", role: "group", "aria-label": "Filters" });
  /** @type {Map<string, any>} counts by what is chosen */
  const known = new Map([["{}", overview.facets]]);
  let asked = "";
  element.addEventListener("toggle", (event) => { // one menu at a time
    if (/** @type {HTMLDetailsElement} */ (event.target).open)
      for (const other of element.querySelectorAll("details[open]")) if (other !== event.target) other.removeAttribute("open");
  }, true);
  element.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && element.querySelector("details[open]");
    if (!open) return;
    event.preventDefault();
    open.removeAttribute("open");
    open.querySelector("summary")?.focus();
  });
  addEventListener("pointerdown", (event) => {
    if (!element.contains(/** @type {Node} */ (event.target))) element.querySelectorAll("details[open]").forEach((one) => one.removeAttribute("open"));
  });

  /** @param {typeof FILTERS[number]} filter @param {any} facets @param {{key: string, value: string}[]} chosen */
  function drawFacet(filter, facets, chosen) {
    const own = chosen.filter(({ key }) => key === filter.key).map(({ value }) => value);
    const values = facets[filter.facet ?? ""] ?? [];
    const gone = own.filter((value) => !values.some((/** @type {any} */ one) => one.value === value)).map((value) => ({ value, count: null }));
    if (!own.length && values.length < (filter.key === "since" || filter.key === "ref" ? 1 : 2)) return null; // nothing to choose between
    const say = (/** @type {string} */ value) => (filter.key === "since" ? DATES[value] ?? value : filter.key === "worktree" ? value.split("/").slice(-2).join("/") : value);
    return h("details", { class: `facet${own.length ? " chosen" : ""}`, "data-facet": filter.key },
      h("summary", {}, own.length ? own.map(say).join(", ") : NAMES[filter.key], icon("chevron")),
      h("div", { class: "menu" }, [...gone, ...values].map(({ value, count }) => h("button", { type: "button", title: say(value) === value ? null : value, "aria-pressed": String(own.includes(value)),
        onclick: () => change({ q: toggleFilter(here().params.get("q") ?? "", filter.key, value), hit: null, tab: null, n: null }) },
      h("span", { class: "value" }, say(value)), count !== null && h("span", { class: "count" }, count.toLocaleString("en"))))));
  }

  /** @param {any} facets @param {{key: string, value: string}[]} chosen */
  function draw(facets, chosen) {
    const open = element.querySelector("details[open]")?.getAttribute("data-facet");
    fill(element, FILTERS.filter(({ key }) => NAMES[key]).map((filter) => drawFacet(filter, facets, chosen)), tuning);
    if (open) element.querySelector(`[data-facet="${open}"]`)?.setAttribute("open", "");
  }

  return {
    element,
    /** @param {URLSearchParams} params */
    async update(params) {
      const { chosen, body, problems } = parseQuery(params.get("q") ?? "", knownNames(overview));
      const key = JSON.stringify(Object.keys(body).length ? chosen : {});
      if (key === asked || problems.length) return;
      asked = key;
      const ready = known.get(key);
      draw(ready ?? overview.facets, chosen);
      if (ready) return;
      try {
        const { facets } = await post("/api/overview", body);
        known.set(key, facets);
        if (asked === key) draw(facets, chosen);
      } catch {
        asked = ""; // the search says what is wrong; the counts are those of the whole index
      }
    },
  };
}
