// Add a folder or a URL, and follow a job while it runs.

import { call, get, post, stream } from "./api.js";
import { failure, fill, h, plural } from "./dom.js";

/**
 * @param {import("./main.js").App} app @param {any} status @param {() => void} onDone
 */
export function drawAdd(app, status, onDone) {
  const source = /** @type {HTMLInputElement} */ (h("input", { type: "text", id: "add-source", required: true, autocomplete: "off", spellcheck: "false",
    placeholder: "/home/me/notes or https://…", "aria-describedby": "add-hint" }));
  const collection = /** @type {HTMLInputElement} */ (h("input", { type: "text", id: "add-collection", autocomplete: "off", placeholder: "its own name" }));
  const outcome = h("div", { class: "outcome" });
  /** @type {string[]} */
  const roots = status.roots.filter((/** @type {string} */ root) => root !== status.kb && !status.roots.some((/** @type {string} */ other) => root.startsWith(`${other}/`)));
  return h("form", { class: "add stack", onsubmit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    const button = /** @type {HTMLButtonElement} */ (/** @type {HTMLElement} */ (event.target).querySelector("button"));
    button.disabled = true;
    try {
      const { job } = await post("/api/ingest", { source: source.value.trim(), collection: collection.value.trim() || undefined });
      const line = h("div", {});
      outcome.replaceChildren(line);
      await followJob(job, line);
      await app.refresh();
      onDone();
    } catch (error) {
      outcome.replaceChildren(failure(error));
    } finally {
      button.disabled = status.read_only;
    }
  } },
  h("div", { class: "add-fields" },
    h("div", {}, h("label", { for: "add-source" }, "Folder, file or URL"), source),
    h("div", {}, h("label", { for: "add-collection" }, "Collection"), collection),
    h("button", { class: "primary", disabled: status.read_only }, "Add")),
  h("p", { class: "quiet", id: "add-hint" }, status.read_only ? "This server is read only."
    : roots.length ? "A public URL, or a folder in one of these. Start the server with --root FOLDER for others."
      : "Start the server with --root FOLDER to allow folders here; URLs are fetched if they are public."),
  !status.read_only && roots.length > 0 && h("div", { class: "roots" }, roots.slice(0, 8).map((root) =>
    h("button", { type: "button", class: "small", onclick: () => { source.value = root; source.focus(); } }, root))),
  outcome);
}

/** @param {any} report */
function drawReport(report) {
  const parts = [["added", report.added], ["changed", report.changed], ["moved", report.moved], ["removed", report.removed], ["unchanged", report.unchanged]]
    .filter(([, count]) => count).map(([word, count]) => `${count.toLocaleString("en")} ${word}`);
  return h("div", { class: "stack" },
    h("p", {}, `${parts.join(", ") || "Nothing to do"}; ${plural(report.chunks, "chunk")} in ${report.seconds.toFixed(1)} s.${report.masked ? ` ${plural(report.masked, "secret")} masked.` : ""}`),
    drawLines("Failed", report.failed, true), drawLines("Left out on purpose", report.skipped, false));
}

/** What is wrong, and after it what to do. @param {string} reason */
function drawReason(reason) {
  const [wrong, ...todo] = reason.split("; ");
  return [h("span", { class: "quiet" }, `${wrong}${todo.length ? "; " : ""}`), todo.length > 0 && h("strong", {}, todo.join("; "))];
}

/** @param {string} title @param {{path: string, reason: string}[]} lines @param {boolean} open */
export const drawLines = (title, lines, open) =>
  lines.length > 0 && h("details", { open }, h("summary", {}, `${title}: ${plural(lines.length, "file")}`),
    h("ul", { class: "reasons" }, lines.slice(0, 200).map((line) => h("li", {}, h("span", { class: "mono" }, line.path), " ", drawReason(line.reason)))));

/** @param {any} job */
function drawState(job) {
  const at = job.progress;
  const words = { queued: "waiting its turn", running: at ? `${at.phase} · ${plural(at.chunks, "chunk")} · ${at.path}` : "starting",
    done: "done", failed: "failed", cancelled: "cancelled" };
  const running = job.state === "queued" || job.state === "running";
  return [
    h("p", { class: "job-head" }, h("strong", {}, job.kind), " ", h("span", { class: "mono" }, job.source ?? ""), " ",
      h("span", { class: `badge ${job.state === "failed" ? "bad" : job.state === "done" ? "good" : ""}` }, job.state),
      running && h("button", { type: "button", class: "small", onclick: (/** @type {any} */ event) => {
        event.target.disabled = true;
        call("DELETE", `/api/jobs/${encodeURIComponent(job.id)}`).catch((error) => event.target.replaceWith(failure(error)));
      } }, "Cancel")),
    running && h("progress", { max: at?.total ?? 1, value: at?.total ? at.done : null, "aria-label": `Progress of ${job.kind}` }),
    running && h("p", { class: "quiet job-line" }, at?.total ? `${at.done.toLocaleString("en")} of ${at.total.toLocaleString("en")} · ` : "",
      words[/** @type {keyof typeof words} */ (job.state)]),
    job.error && h("p", { class: "notice bad" }, job.error),
    job.report?.failed && drawReport(job.report)];
}

/** A job as it stands. @param {any} job */
export const drawJob = (job) => h("div", { class: "job" }, drawState(job));

/**
 * Draw a job and draw it again whenever it moves, until it ends.
 * @param {any} job @param {HTMLElement} root
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>} the job as it ended
 */
export async function followJob(job, root, signal) {
  root.classList.add("job");
  root.setAttribute("role", "status");
  fill(root, drawState(job));
  await stream("GET", `/api/jobs/${encodeURIComponent(job.id)}/events`, undefined, (name, data) => {
    if (name === "progress") fill(root, drawState(data));
  }, signal);
  const last = await get(`/api/jobs/${encodeURIComponent(job.id)}`, signal);
  fill(root, drawState(last));
  if (last.state === "failed") throw new Error(last.error ?? "the job failed");
  return last;
}
