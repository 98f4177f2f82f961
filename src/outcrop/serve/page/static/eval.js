// Eval: the cases that were saved, runs over them; two runs side by side, down to the single question.

import { address, change, here } from "./address.js";
import { call, get } from "./api.js";
import { followJob } from "./adding.js";
import { failure, fill, h, plural, waiting, when } from "./dom.js";
import { drawPlot } from "./plot.js";

const MEASURES = /** @type {const} */ ([["top_1", "top 1"], ["recall_5", "recall@5"], ["recall_10", "recall@10"], ["mrr", "MRR"], ["ndcg_10", "nDCG@10"]]);

/** @param {number} by @param {number} [digits] */
const difference = (by, digits = 3) => Math.abs(by) >= 0.5 / 10 ** digits && h("span", { class: `move ${by > 0 ? "up" : "down"}` }, ` ${by > 0 ? "▲" : "▼"}${Math.abs(by).toFixed(digits)}`);

/** How a run was made: its mode, its model, what else was set. @param {any} run */
function madeBy(run) {
  const { mode, limit, ...more } = run.options ?? {};
  return [mode ?? "hybrid", run.model, ...Object.entries(more).map(([name, value]) => `${name} ${value}`)].filter(Boolean).join(" · ");
}

/** @param {any} row */
const rankOf = (row) => (!row ? "–" : row.rank === null ? "not found" : `rank ${row.rank}`);

/** @param {HTMLElement} root @param {import("./main.js").App} app @returns {import("./main.js").View} */
export function mountEval(root, app) {
  const progress = h("div", {});
  const run = /** @type {HTMLButtonElement} */ (h("button", { type: "button", class: "primary", disabled: true, onclick: start }, "Run"));
  const cases = h("div", {}, waiting("Reading"));
  const runs = h("div", { class: "stack" });
  const rows = h("div", { class: "stack" });
  root.append(h("div", { class: "page stack" },
    h("div", { class: "row between" }, h("h1", {}, "Eval"), run), progress,
    h("div", { class: "eval" }, h("div", { class: "stack" }, runs, rows),
      h("section", { class: "card stack", "aria-labelledby": "eval-cases" }, h("h2", { id: "eval-cases" }, "Cases"), cases))));
  const work = new AbortController();
  /** @type {any[]} newest first */
  let known = [];

  async function start() {
    run.disabled = true;
    try {
      const { job } = await call("POST", "/api/eval/run");
      await followJob(job, progress, work.signal);
      fill(progress);
      await load();
    } catch (error) {
      if (!work.signal.aborted) fill(progress, failure(error));
    }
    run.disabled = false;
  }

  async function load() {
    try {
      const [kept, made] = await Promise.all([get("/api/eval/cases", work.signal), get("/api/eval/runs", work.signal)]);
      run.disabled = kept.cases.length === 0;
      fill(cases, kept.cases.length ? h("ol", { class: "cases" }, kept.cases.map(drawCase))
        : h("p", { class: "quiet" }, "None yet. In Search, give a hit a thumbs up: it becomes a case, and a run asks every case again."));
      drawRuns(made.runs);
      await compare(here().params);
    } catch (error) {
      if (!work.signal.aborted) fill(cases, failure(error));
    }
  }

  /** @param {any} one */
  const drawCase = (one) => h("li", {}, h("a", { href: address("search", { q: one.query }) }, one.query),
    h("div", { class: "mono quiet path" }, (Array.isArray(one.expected) ? one.expected : Object.keys(one.expected)).join(", ")));

  /** @param {any[]} list newest first */
  function drawRuns(list) {
    known = list.filter((one) => one.metrics).sort((a, b) => b.time - a.time);
    fill(runs, list.filter((one) => one.problem).map((one) => h("p", { class: "notice warn" }, `${one.id}: ${one.problem}`)),
      known.length ? [drawPlot([...known].reverse().slice(-30).map((one) => one.metrics), MEASURES),
        h("div", { class: "wide rows", tabindex: "0", role: "region", "aria-label": "Runs" }, h("table", { class: "runs" },
          h("thead", {}, h("tr", {}, ["Run", "Cases", ...MEASURES.map(([, word]) => word), "p95"].map((word) => h("th", { scope: "col" }, word)))),
          h("tbody", {}, known.map((one, at) => drawRun(one, known[at + 1])))))]
        : h("p", { class: "quiet" }, "No runs yet. A run asks every case and keeps how well it went, to compare with later ones."));
  }

  /** @param {any} one @param {any} before the run before it */
  const drawRun = (one, before) => h("tr", {},
    h("td", {}, h("button", { type: "button", class: "ghost small", onclick: () => change({ run: one.id, against: before?.id }) }, when(one.time)),
      h("div", { class: "quiet" }, [one.name, madeBy(one)].filter(Boolean).join(" · "))),
    h("td", { class: "number", "data-word": "cases" }, one.queries),
    MEASURES.map(([name, word]) => h("td", { class: "number", "data-word": word }, one.metrics[name].toFixed(3), before && difference(one.metrics[name] - before.metrics[name]))),
    h("td", { class: "number", "data-word": "p95" }, one.metrics.search_p95_ms === undefined ? "" : `${one.metrics.search_p95_ms.toFixed(1)} ms`));

  /** @param {string} name @param {string} word @param {string} value */
  const pick = (name, word, value) => [h("label", { for: `pick-${name}` }, word),
    h("select", { id: `pick-${name}`, onchange: (/** @type {any} */ e) => change({ [name]: e.target.value }, { replace: true }) }, name === "against" && h("option", { value: "" }, "nothing"),
      known.map((one) => h("option", { value: one.id, selected: one.id === value }, `${when(one.time)} · ${madeBy(one)}`)))];

  /** Two runs side by side: measures, then every question, those that moved first. @param {URLSearchParams} params */
  async function compare(params) {
    const ids = [params.get("run"), params.get("against")];
    if (!ids[0]) {
      fill(rows);
      return;
    }
    if (!rows.childElementCount) fill(rows, waiting("Reading the run"));
    try {
      const [one, other] = await Promise.all(ids.map((id) => (id ? get(`/api/eval/runs/${encodeURIComponent(id)}`, work.signal) : null)));
      const before = new Map((other?.cases ?? []).map((/** @type {any} */ row) => [row.query, row]));
      /** @param {any} row */
      const moved = (row) => (other && before.has(row.query) ? (before.get(row.query).rank ?? 99) - (row.rank ?? 99) : 0);
      const ordered = [...one.cases].sort((a, b) => Math.abs(moved(b)) - Math.abs(moved(a)) || (b.rank ?? 99) - (a.rank ?? 99));
      const failed = one.cases.filter((/** @type {any} */ row) => row.rank !== 1).length;
      fill(rows, h("section", { class: "card stack", "aria-labelledby": "eval-run" },
        h("h2", { id: "eval-run" }, `${plural(one.cases.length, "query", "queries")}, ${failed} not answered first`),
        h("div", { class: "picks" }, pick("run", "This run", one.id), pick("against", "against", other?.id ?? "")),
        other && h("div", { class: "wide rows", tabindex: "0", role: "region", "aria-label": "Two runs compared" }, h("table", { class: "compared" },
          h("thead", {}, h("tr", {}, ["Measure", "This run", "Against", "Difference"].map((word) => h("th", { scope: "col" }, word)))),
          h("tbody", {}, MEASURES.map(([name, word]) => h("tr", {}, h("td", {}, word), h("td", { class: "number", "data-word": "this" }, one.metrics[name].toFixed(3)),
            h("td", { class: "number", "data-word": "against" }, other.metrics[name].toFixed(3)), h("td", { class: "number" }, difference(one.metrics[name] - other.metrics[name]) || "="))))),
        ),
        h("ol", { class: "cases" }, ordered.map((row) => h("li", {},
          h("span", { class: `badge ${row.rank === 1 ? "good" : "warn"}` }, rankOf(row)), other && before.get(row.query)?.rank !== row.rank && h("span", { class: "badge" }, `was ${rankOf(before.get(row.query))}`), " ",
          h("a", { href: address("search", { q: row.query }) }, row.query),
          h("div", { class: "mono quiet path" }, row.expected.join(", "), row.rank !== 1 && row.first && ` · first was ${row.first}`))))));
    } catch (error) {
      if (!work.signal.aborted) fill(rows, failure(error));
    }
  }

  app.status().then((status) => { if (status.read_only) run.title = "This server is read only"; }, () => {});
  const loaded = load();
  return { update: (params) => { loaded.then(() => compare(params)); }, unmount: () => work.abort() };
}
