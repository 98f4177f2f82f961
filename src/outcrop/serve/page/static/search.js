// Search: results as one types, the hit beside them in its document, and why it stands there.

import { change, go, here, address } from "./address.js";
import { post } from "./api.js";
import { makeAsker } from "./asking.js";
import { failure, fill, h, plural, waiting } from "./dom.js";
import { drawStart } from "./start.js";
import { drawHits } from "./hits.js";
import { makePanel } from "./panel.js";
import { isTuned, makeFilters, makeTuning, searchBody, untuned } from "./tuning.js";

const LIMIT = 10; // what fits on two screens; fewer to fetch and to paint at every letter
const MOST = 50;
const REASONS = /** @type {Record<string, string>} */ ({
  empty_query: "",
  empty_index: "The index is empty.",
  no_hits: "Nothing here answers that.",
  filtered_out: "The filters leave nothing to search in.",
  model_mismatch: "The stored vectors are of another model, so only words were searched. Re-embed the index to search by meaning.",
  error: "The search did not go through.",
});

/** @param {URLSearchParams} params */
const limitOf = (params) => Math.min(MOST, Math.max(LIMIT, Number(params.get("n")) || 0));

/** @param {URLSearchParams} params what the answer depends on, without what is merely open */
function keyOf(params) {
  const key = new URLSearchParams(params);
  key.delete("hit");
  key.delete("tab");
  return key.toString();
}

/** @param {URLSearchParams} params what the usual order depends on */
function usualKey(params) {
  const plain = untuned(params);
  plain.delete("n");
  return keyOf(plain);
}

/** @param {HTMLElement} root @param {import("./main.js").App} app @returns {import("./main.js").View} */
export function mountSearch(root, app) {
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "search", id: "query", class: "query", "aria-label": "Search",
    placeholder: "Search everything", autocomplete: "off", spellcheck: "false", enterkeyhint: "search",
    oninput: () => change({ q: input.value, hit: null, tab: null, n: null }, { replace: true }) }));
  const summary = h("p", { class: "summary", role: "status" });
  const list = h("ol", { class: "hits", "aria-label": "Results" });
  const tools = h("div", { class: "tools" });
  const results = h("section", { class: "results", "aria-label": "Results" },
    h("h1", { class: "visually-hidden" }, "Search"),
    h("form", { class: "ask", role: "search", onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); openFirst(); } }, input), tools, summary, list);
  const panel = makePanel(() => close());
  const frame = h("div", { class: "split" }, results, panel.element);
  root.append(frame);

  /** @type {{update: (params: URLSearchParams) => void}[]} */
  let controls = [];
  /** @type {{key: string, query: string, answer: any} | null} */
  let current = null;
  /** @type {Map<string, Map<number, number>>} rank of each chunk in the usual order, by what was asked */
  const usual = new Map();
  let opener = "";

  app.status().then((status) => {
    if (status.stats.documents === 0) {
      frame.replaceWith(drawStart(app, status));
      return;
    }
    const filters = makeFilters(status);
    const tuning = makeTuning(status);
    controls = [filters, tuning];
    fill(tools, filters.element, tuning.element);
    controls.forEach((control) => control.update(here().params));
    showIdle(status);
  }, (error) => fill(summary, failure(error)));

  /** @param {any} status */
  function showIdle(status) {
    if (here().params.get("q")) return;
    fill(summary);
    fill(list, h("li", { class: "idle" },
      h("p", {}, `${plural(status.stats.documents, "document")} in ${plural(status.collections.length, "collection")}.`),
      h("p", { class: "quiet" }, "Type a question, a phrase in \"quotes\", or the name of something in code. Press ", h("kbd", {}, "?"), " for the keys.")));
  }

  const asker = makeAsker(
    async (/** @type {URLSearchParams} */ params, signal) => {
      const answer = post("/api/search", { ...searchBody(params), limit: limitOf(params) }, signal);
      const key = usualKey(params);
      if (isTuned(params) && !usual.has(key)) noteUsual(key, await post("/api/search", { ...searchBody(untuned(params)), limit: MOST }, signal));
      return answer;
    },
    (params, answer) => {
            current = { key: keyOf(params), query: params.get("q") ?? "", answer };
      show();
    },
    (params, error) => {
      current = null;
      list.replaceChildren();
      fill(summary, failure(error));
      list.dataset.query = params.get("q") ?? "";
    });

  /** @param {string} key @param {any} answer */
  function noteUsual(key, answer) {
    if (usual.size > 50) usual.clear();
    usual.set(key, new Map(answer.hits.flatMap((/** @type {any} */ hit, /** @type {number} */ at) => hit.chunk_ids.map((/** @type {number} */ id) => [id, at + 1]))));
  }

  /** Show the current answer. */
  function show() {
    if (!current) return;
    const { params } = here();
    const { answer } = current;
    const time = Object.values(answer.timings_ms).reduce((/** @type {any} */ sum, ms) => sum + ms, 0);
    const words = answer.reason ? REASONS[answer.reason] ?? answer.reason : "";
    fill(summary,
      answer.hits.length > 0 && h("span", {}, `${plural(answer.hits.length, "hit")} · ${answer.query_type} · ${Number(time).toFixed(1)} ms`),
      answer.reranked > 0 && h("span", {}, ` · ${answer.reranked} reranked`),
      (words || answer.detail) && h("span", { class: answer.reason === "error" ? "notice bad" : "notice warn" }, [words, answer.detail].filter(Boolean).join(" ")));
    fill(list, drawHits(answer.hits, { params, before: isTuned(params) ? usual.get(usualKey(params)) ?? null : null, onRight: saveRight }),
      answer.hits.length >= limitOf(params) && limitOf(params) < MOST && h("li", { class: "more-hits" },
        h("button", { type: "button", onclick: () => change({ n: limitOf(params) + LIMIT }, { replace: true }) }, "More")));
    list.classList.remove("old");
    list.dataset.query = current.query;
    showPanel();
  }

  /** Show the hit that the address names, or nothing. */
  function showPanel() {
    const { params } = here();
    const id = params.get("hit");
    const at = current?.answer.hits.findIndex((/** @type {any} */ hit) => String(hit.chunk_ids[0]) === id) ?? -1;
    for (const item of list.querySelectorAll(".hit")) {
      if (/** @type {HTMLElement} */ (item).dataset.hit === id) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    }
    frame.classList.toggle("has-panel", at >= 0);
    if (at < 0) panel.hide();
    else panel.show(current?.answer.hits[at], at + 1, params);
    if (id && at >= 0) opener = id;
  }

  /** @param {any} hit @param {HTMLButtonElement} button */
  async function saveRight(hit, button) {
    button.disabled = true;
    const { params } = here();
    try {
      await post("/api/eval/cases", { query: params.get("q"), expected: [hit.document.uri], collections: [hit.document.collection] });
      button.textContent = "saved for Eval";
    } catch (error) {
      button.disabled = false;
      button.closest(".hit")?.append(failure(error));
    }
  }

  function openFirst() {
    const first = current?.answer.hits[0];
    if (first) change({ hit: first.chunk_ids[0], tab: null });
  }

  /** Close the panel; focus goes back to the hit it belongs to. */
  function close() {
    change({ hit: null, tab: null });
    const link = /** @type {HTMLElement | null} */ (list.querySelector(`[data-hit="${CSS.escape(opener)}"] .hit-link`));
    (link ?? input).focus();
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const links = [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(".hit-link"))];
    const item = /** @type {HTMLElement | null} */ (document.activeElement?.closest?.(".hit"));
    const at = item ? links.findIndex((link) => item.contains(link)) : -1;
    if (event.key === "ArrowDown" && links.length && (at >= 0 || document.activeElement === input)) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      event.preventDefault();
      if (at === 0) input.focus();
      else links[at - 1].focus();
    } else if (event.key === "w" && item) {
      event.preventDefault();
      change({ hit: item.dataset.hit, tab: "why" });
    }
  }
  results.addEventListener("keydown", onKey);
  input.focus({ preventScroll: true });

  return {
    update(params) {
      const q = params.get("q") ?? "";
      if (input.value !== q) input.value = q;
      controls.forEach((control) => control.update(params));
      const key = keyOf(params);
      if (current?.key === key) {
        showPanel();
        return;
      }
      if (!q.trim()) {
        asker.stop();
        current = null;
        list.dataset.query = "";
        list.replaceChildren();
        showPanel();
        app.status().then(showIdle, () => {});
        return;
      }
      list.classList.add("old");
      if (!list.childElementCount || !current) fill(summary, waiting("Searching"));
      asker.ask(new URLSearchParams(params));
    },
    unmount: () => asker.stop(),
    escape() {
      if (here().params.get("hit")) close();
      else if (document.activeElement !== input) input.focus();
      else if (input.value) go(address("search"), { replace: true });
      else return false;
      return true;
    },
    focus() {
      input.focus();
      input.select();
    },
  };
}
