// Search: results as one types, the hit beside them in its document, and why it stands there.

import { change, go, here, address } from "./address.js";
import { call, get, post } from "./api.js";
import { makeAsker } from "./asking.js";
import { makeBox } from "./box.js";
import { capital, copy, failure, fill, h, keep, kept, plural, toast, waiting } from "./dom.js";
import { knownNames, makeFacets } from "./facets.js";
import { drawStart } from "./start.js";
import { COPIES, drawHits, editorLink } from "./hits.js";
import { drawChanged, drawHome, noteQuestion } from "./home.js";
import { isQueryPanel, makePanel } from "./panel.js";
import { parseQuery, writeQuery } from "./query.js";
import { isTuned, makeTuning, searchBody, untuned } from "./tuning.js";

const LIMIT = 10; // what fits on two screens; fewer to fetch and to paint at every letter
const MOST = 50;
const HIDDEN = "outcrop.hidden";
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
  ["hit", "tab", "group"].forEach((name) => key.delete(name));
  return key.toString();
}

/** @param {URLSearchParams} params what the usual order depends on */
function usualKey(params) {
  const plain = untuned(params);
  plain.delete("n");
  return keyOf(plain);
}

/** Filters had parameters of their own once: such a link still leads to the same place. @param {URLSearchParams} params */
function foldFilters(params) {
  const filters = /** @type {Record<string, string>} */ ({ collection: "in", kind: "kind", path: "path", tag: "tag" });
  const given = Object.keys(filters).filter((name) => params.has(name));
  if (!given.length) return false;
  const q = writeQuery(params.get("q") ?? "", Object.fromEntries(given.map((name) => [filters[name], params.get(name) ?? ""])));
  change({ q, ...Object.fromEntries(given.map((name) => [name, null])) }, { replace: true });
  return true;
}

/** @param {HTMLElement} root @param {import("./main.js").App} app @returns {import("./main.js").View} */
export function mountSearch(root, app) {
  const box = makeBox((q) => change({ q, hit: null, tab: isQueryPanel(here().params) ? here().params.get("tab") : null, n: null }, { replace: true }), openFirst);
  const { input } = box;
  const hero = h("div", { class: "hero" }, h("h1", {}, "Search"));
  const summary = h("div", { class: "summary", role: "status" });
  const list = h("ol", { class: "hits", "aria-label": "Results" });
  const home = h("div", { class: "home" });
  const tools = h("div", { class: "facets" });
  const results = h("section", { class: "results", "aria-label": "Results" }, hero, box.element, tools, summary, list, home);
  const panel = makePanel(() => close());
  const frame = h("div", { class: "split" }, results, panel.element);
  root.append(frame);

  /** @type {{update: (params: URLSearchParams) => void}[]} */
  let controls = [];
  /** @type {Record<string, string[]>} */
  let names = {};
  /** @type {{key: string, query: string, answer: any} | null} */
  let current = null;
  /** @type {Map<string, Map<number, number>>} rank of each chunk in the usual order, by what was asked */
  const usual = new Map();
  /** @type {Map<string, Set<string>>} documents kept as right answers, by what was asked */
  const right = new Map();
  let opener = "";

  const overview = app.status().then(async (status) => {
    if (status.stats.documents === 0) {
      frame.replaceWith(drawStart(app, status));
      return null;
    }
    names = { collections: status.collections.map((/** @type {any} */ one) => one.name) };
    fill(hero, h("h1", {}, `Search ${plural(status.stats.documents, "document")}`));
    const found = await post("/api/overview", {});
    names = { ...knownNames(found), ...names };
    const tuning = makeTuning(status);
    const facets = makeFacets(found, tuning.element);
    box.setFacets(found.facets);
    tools.replaceWith(facets.element);
    facets.element.hidden = tools.hidden;
    controls = [facets, tuning, { update: (params) => { facets.element.hidden = !params.get("q"); } }];
    controls.forEach((control) => control.update(here().params));
    return found;
  });
  overview.catch((error) => fill(summary, failure(error)));
  overview.then(async (found) => {
    if (!found) return;
    for (const one of (await get("/api/eval/cases")).cases) right.set(one.query, new Set([...(right.get(one.query) ?? []), ...Object.keys(one.expected)]));
    if (current && right.has(parseQuery(current.query).words)) show();
  }).catch(() => {}); // thumbs that were given before are not shown; everything else works

  /** Show what there is before anything is asked. @param {boolean} idle */
  function showHome(idle) {
    hero.classList.toggle("visually-hidden", !idle);
    home.hidden = !idle;
    for (const part of [list, summary, tools]) part.hidden = idle;
    if (idle) overview.then((found) => { if (found) drawHome(home, found); }, () => { summary.hidden = false; });
  }

  const asker = makeAsker(
    async (/** @type {URLSearchParams} */ params, signal) => {
      const body = searchBody(params, names);
      if (!body.query) return { hits: [], timings_ms: {}, browsed: await post("/api/overview", parseQuery(params.get("q") ?? "", names).body, signal) };
      const answer = post("/api/search", { ...body, limit: limitOf(params) }, signal);
      const key = usualKey(params);
      if (isTuned(params) && !usual.has(key)) noteUsual(key, await post("/api/search", { ...searchBody(untuned(params), names), limit: MOST }, signal));
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

  /** Passages that were hidden for this question. @returns {number[]} */
  const hiddenNow = () => kept(HIDDEN, {})[current?.query ?? ""] ?? [];

  /** @param {number[]} ids */
  function setHidden(ids) {
    const all = Object.entries({ ...kept(HIDDEN, {}), [current?.query ?? ""]: ids }).filter(([, own]) => own.length).slice(-100);
    keep(HIDDEN, Object.fromEntries(all));
    show();
  }

  /** Show the current answer. */
  function show() {
    if (!current) return;
    const { params } = here();
    const { answer } = current;
    const hidden = hiddenNow();
    const hits = answer.hits.filter((/** @type {any} */ hit) => !hidden.includes(hit.chunk_ids[0]));
    drawSummary(answer, hits, hidden, params);
    if (answer.browsed) fill(list, answer.browsed.recent.map(drawChanged));
    else fill(list, drawHits(hits, { params, before: isTuned(params) ? usual.get(usualKey(params)) ?? null : null, right: right.get(parseQuery(current.query).words) ?? new Set(), onRight, onWrong }),
      answer.hits.length >= limitOf(params) && limitOf(params) < MOST && h("li", { class: "more-hits" },
        h("button", { type: "button", onclick: () => change({ n: limitOf(params) + LIMIT }, { replace: true }) }, "More")));
    list.classList.remove("old");
    list.dataset.query = current.query;
    showPanel();
  }

  /** @param {any} answer @param {any[]} hits @param {number[]} hidden @param {URLSearchParams} params */
  function drawSummary(answer, hits, hidden, params) {
    const time = Object.entries(answer.timings_ms).reduce((sum, [name, ms]) => (name === "total" ? sum : sum + Number(ms)), 0);
    const notes = [answer.reason ? REASONS[answer.reason] ?? answer.reason : "", answer.detail, ...parseQuery(params.get("q") ?? "").problems].filter(Boolean).map(capital).join(" ");
    const grouped = params.has("group");
    fill(summary,
      answer.browsed && h("span", { class: "told" }, `${plural(answer.browsed.documents, "document")}, the latest first. Type what you look for in them.`),
      hits.length > 0 && h("span", { class: "told" }, `${plural(hits.length, "hit")} in ${time < 1 ? "under 1" : time.toFixed(0)} ms${answer.reranked ? `, ${answer.reranked} reranked` : ""}`,
        hits.length < answer.hits.length && [" · ", h("button", { type: "button", class: "ghost small", onclick: () => setHidden([]) }, `${answer.hits.length - hits.length} hidden: show`)]),
      notes && h("span", { class: answer.reason === "error" ? "notice bad" : "notice warn" }, notes),
      hits.length > 0 && [
        h("button", { type: "button", class: "ghost small", "aria-pressed": String(grouped), title: "Hits of one file together, instead of in the order of their scores", onclick: () => { change({ group: grouped ? null : 1 }, { replace: true }); show(); } }, "By file"),
        h("button", { type: "button", class: "ghost small", onclick: () => change({ tab: "context", hit: null }) }, "Context"),
        h("button", { type: "button", class: "ghost small", onclick: () => copy(location.href, "Link copied: it opens this search as it stands") }, "Copy link")]);
  }

  /** Show what the address names beside the results, or nothing. */
  function showPanel() {
    const { params } = here();
    const id = params.get("hit");
    const at = current?.answer.hits.findIndex((/** @type {any} */ hit) => String(hit.chunk_ids[0]) === id) ?? -1;
    for (const item of list.querySelectorAll(".hit")) {
      if (/** @type {HTMLElement} */ (item).dataset.hit === id) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    }
    const query = isQueryPanel(params) && current !== null;
    frame.classList.toggle("has-panel", at >= 0 || query);
    if (query) panel.showQuery(params);
    else if (at >= 0) panel.showHit(current?.answer.hits[at], at + 1, params);
    else panel.hide();
    if (id && at >= 0) {
      opener = id;
      noteQuestion(current?.query ?? "");
    }
  }

  /** Keep a right answer as a case for Eval, or take it back. @param {any} hit */
  async function onRight(hit) {
    const query = parseQuery(current?.query ?? "").words;
    const own = right.get(query) ?? new Set();
    right.set(query, own);
    const body = { query, expected: [hit.document.uri], collections: [hit.document.collection] };
    const again = own.has(hit.document.uri);
    try {
      if (again && !(await call("DELETE", "/api/eval/cases", body)).removed) throw new Error("This case was not saved here; take it out of eval-cases.jsonl beside the index.");
      if (!again) await post("/api/eval/cases", body);
      if (again) own.delete(hit.document.uri);
      else own.add(hit.document.uri);
      toast(again ? "Taken back: no case for Eval any more" : "Kept as a case for Eval. The ranking does not change by it", again ? null : () => onRight(hit));
      show();
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {any} hit */
  function onWrong(hit) {
    const before = hiddenNow();
    setHidden([...before, hit.chunk_ids[0]]);
    toast("Hidden for this question, in this browser. The ranking does not change by it", () => setHidden(before));
  }

  function openFirst() {
    const first = current?.answer.hits.find((/** @type {any} */ hit) => !hiddenNow().includes(hit.chunk_ids[0]));
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
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const links = [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll(".hit-link"))];
    const item = /** @type {HTMLElement | null} */ (document.activeElement?.closest?.(".hit"));
    const at = item ? links.findIndex((link) => item.contains(link)) : -1;
    const hit = item && current?.answer.hits.find((/** @type {any} */ one) => String(one.chunk_ids[0]) === item.dataset.hit);
    const key = item ? { j: "ArrowDown", k: "ArrowUp" }[event.key] ?? event.key : event.key;
    if (key === "ArrowDown" && links.length && (at >= 0 || document.activeElement === input)) links[Math.min(at + 1, links.length - 1)].focus();
    else if (key === "ArrowUp" && at >= 0) (at === 0 ? input : links[at - 1]).focus();
    else if (!hit) return;
    else if (key === "w") change({ hit: item.dataset.hit, tab: "why" });
    else if (key === "x") change({ hit: null, tab: "context" });
    else if (key === "o" && editorLink(hit)) location.href = /** @type {string} */ (editorLink(hit));
    else if (COPIES[key]) COPIES[key](hit);
    else return;
    event.preventDefault();
  }
  results.addEventListener("keydown", onKey);
  list.addEventListener("click", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    const item = /** @type {HTMLElement | null} */ (target.closest(".hit"));
    if (item && !target.closest("a, button") && getSelection()?.isCollapsed) change({ hit: item.dataset.hit, tab: null });
  });
  input.focus({ preventScroll: true });

  return {
    update(params) {
      if (foldFilters(params)) return;
      const q = params.get("q") ?? "";
      if (input.value !== q) input.value = q;
      controls.forEach((control) => control.update(params));
      showHome(!q.trim());
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
        return;
      }
      list.classList.add("old");
      if (!list.childElementCount || !current) fill(summary, waiting("Searching"));
      asker.ask(new URLSearchParams(params));
    },
    unmount: () => asker.stop(),
    escape() {
      if (here().params.get("hit") || isQueryPanel(here().params)) close();
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
