// Eval: the cases that were saved, runs over them, compared and plotted.

import { change } from "./address.js";
import { call, get } from "./api.js";
import { followJob } from "./adding.js";
import { failure, fill, h, plural, waiting, when } from "./dom.js";
import { drawPlot } from "./plot.js";

const MEASURES = /** @type {const} */ ([["top_1", "top 1"], ["recall_5", "recall@5"], ["recall_10", "recall@10"], ["mrr", "MRR"], ["ndcg_10", "nDCG@10"]]);

/** @param {HTMLElement} root @param {import("./main.js").App} app @returns {import("./main.js").View} */
export function mountEval(root, app) {
  const progress = h("div", {});
  const run = /** @type {HTMLButtonElement} */ (h("button", { type: "button", class: "primary", disabled: true, onclick: start }, "Run"));
  const cases = h("div", {}, waiting("Reading"));
  const runs = h("div", { class: "stack" });
  const rows = h("div", {});
  root.append(h("div", { class: "page stack" },
    h("div", { class: "row between" }, h("h1", {}, "Eval"), run), progress,
    h("div", { class: "eval" }, h("section", { class: "card stack", "aria-labelledby": "eval-runs" }, h("h2", { id: "eval-runs" }, "Runs"), runs, rows),
      h("section", { class: "card stack", "aria-labelledby": "eval-cases" }, h("h2", { id: "eval-cases" }, "Cases"), cases))));
  let work = new AbortController();

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
        : h("p", { class: "quiet" }, "None yet. In Search, press “this one was right” beside a hit: it becomes a case, and a run asks every case again."));
      drawRuns(made.runs);
    } catch (error) {
      if (!work.signal.aborted) fill(cases, failure(error));
    }
  }

  /** @param {any} one */
  function drawCase(one) {
    const expected = Array.isArray(one.expected) ? one.expected : Object.keys(one.expected);
    return h("li", {}, h("strong", {}, one.query), h("div", { class: "mono quiet path" }, expected.join(", ")));
  }

  /** @param {any[]} list newest first */
  function drawRuns(list) {
    if (!list.length) {
      fill(runs, h("p", { class: "quiet" }, "No runs yet. A run asks every case and keeps how well it went, to compare with later ones."));
      fill(rows);
      return;
    }
    const ordered = list.filter((one) => one.metrics).sort((a, b) => b.time - a.time);
    const broken = list.filter((one) => one.problem);
    fill(runs, broken.map((one) => h("p", { class: "notice warn" }, `${one.id}: ${one.problem}`)),
      ordered.length > 0 && drawPlot([...ordered].reverse().slice(-30).map((one) => one.metrics), MEASURES),
      h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Runs compared" }, h("table", {},
        h("thead", {}, h("tr", {}, ["Run", "Cases", ...MEASURES.map(([, word]) => word), "p95"].map((word) => h("th", { scope: "col" }, word)))),
        h("tbody", {}, ordered.map((one, at) => drawRun(one, ordered[at + 1]))))));
  }

  /** @param {any} one @param {any} before the run before it */
  const drawRun = (one, before) => h("tr", {},
    h("td", {}, h("button", { type: "button", class: "ghost small", onclick: () => change({ run: one.id }) }, when(one.time)), one.name && h("div", { class: "quiet" }, one.name)),
    h("td", { class: "number" }, one.queries),
    MEASURES.map(([name]) => {
      const difference = before ? one.metrics[name] - before.metrics[name] : 0;
      return h("td", { class: "number" }, one.metrics[name].toFixed(3), Math.abs(difference) >= 0.0005 && h("span", { class: `move ${difference > 0 ? "up" : "down"}` },
        ` ${difference > 0 ? "▲" : "▼"}${Math.abs(difference).toFixed(3)}`));
    }),
    h("td", { class: "number" }, one.metrics.search_p95_ms === undefined ? "" : `${one.metrics.search_p95_ms.toFixed(1)} ms`));

  /** @param {string} id */
  async function showRun(id) {
    fill(rows, waiting("Reading the run"));
    try {
      const kept = await get(`/api/eval/runs/${encodeURIComponent(id)}`, work.signal);
      const failed = kept.cases.filter((/** @type {any} */ row) => row.rank !== 1);
      fill(rows, h("h3", {}, `${plural(kept.cases.length, "query", "queries")}, ${failed.length} not answered first`),
        h("ol", { class: "cases" }, [...failed, ...kept.cases.filter((/** @type {any} */ row) => row.rank === 1)].map((row) =>
          h("li", {}, h("span", { class: `badge ${row.rank === 1 ? "good" : "warn"}` }, row.rank === null ? "not found" : `rank ${row.rank}`), " ", h("strong", {}, row.query),
            h("div", { class: "mono quiet path" }, row.expected.join(", "), row.rank !== 1 && row.first && ` · first was ${row.first}`)))));
    } catch (error) {
      if (!work.signal.aborted) fill(rows, failure(error));
    }
  }

  app.status().then((status) => { if (status.read_only) run.title = "This server is read only"; }, () => {});
  load();
  return {
    update(params) {
      const id = params.get("run");
      if (id) showRun(id);
      else fill(rows);
    },
    unmount: () => work.abort(),
  };
}
