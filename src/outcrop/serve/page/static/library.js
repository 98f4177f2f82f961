// Library: collections, their documents, each with its chunks; what is stale, what failed; add, sync, delete.

import { address, change, here } from "./address.js";
import { call, get, post, withQuery } from "./api.js";
import { drawAdd, drawJob, followJob } from "./adding.js";
import { failure, fill, h, plural, waiting, when } from "./dom.js";
import { showChunks } from "./chunks.js";

const PAGE = 50;

/**
 * A question that has to be answered before something is gone.
 * @param {string} title @param {string} words @param {string} yes
 * @returns {Promise<boolean>}
 */
function confirmed(title, words, yes) {
  return new Promise((answer) => {
    const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-labelledby": "confirm-title" },
      h("form", { method: "dialog", class: "stack" }, h("h2", { id: "confirm-title" }, title), h("p", {}, words),
        h("div", { class: "row" }, h("button", { class: "danger", value: "yes" }, yes), h("button", { value: "no", autofocus: true }, "Keep")))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      answer(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** @param {HTMLElement} root @param {import("./main.js").App} app @returns {import("./main.js").View} */
export function mountLibrary(root, app) {
  const side = h("div", { class: "stack" }, waiting("Reading"));
  const body = h("div", { class: "stack holdings-body" });
  root.append(h("div", { class: "page" }, h("h1", { class: "visually-hidden" }, "Library"), h("div", { class: "holdings" }, side, body)));
  let work = new AbortController();
  /** @type {Map<number, string>} */
  let stale = new Map();

  async function drawSide() {
    try {
      const [status, { jobs }] = await Promise.all([app.refresh(), get("/api/jobs")]);
      const chosen = here().params.get("collection");
      const sync = h("div", {});
      fill(side,
        h("section", { class: "card stack", "aria-labelledby": "collections" },
          h("div", { class: "row between" }, h("h2", { id: "collections" }, "Collections"),
            h("button", { type: "button", class: "small", disabled: status.read_only, onclick: () => runSync(sync, null) }, "Sync all")),
          status.collections.length === 0 && h("p", { class: "quiet" }, "None yet. Add a folder below."),
          h("ul", { class: "collections" }, status.collections.map((/** @type {any} */ info) =>
            h("li", {}, h("a", { href: address("library", { collection: info.name }), "aria-current": info.name === chosen ? "true" : null }, info.name),
              h("span", { class: "quiet" }, `${plural(info.documents, "document")} · ${plural(info.chunks, "chunk")}`)))),
          sync),
        h("section", { class: "card stack", "aria-labelledby": "adding" }, h("h2", { id: "adding" }, "Add"), drawAdd(app, status, () => again())),
        jobs.length > 0 && h("section", { class: "card stack", "aria-labelledby": "jobs" }, h("h2", { id: "jobs" }, "Work"),
          jobs.slice(0, 8).map(drawJob)));
      return status;
    } catch (error) {
      fill(side, failure(error));
      return null;
    }
  }

  /** @param {HTMLElement} line @param {string | null} collection */
  async function runSync(line, collection) {
    try {
      const { job } = await post("/api/sync", collection ? { collection } : {});
      await followJob(job, line);
      show(here().params);
    } catch (error) {
      fill(line, failure(error));
    }
  }

  function again() {
    drawSide();
    show(here().params);
  }

  /** @param {URLSearchParams} params */
  async function show(params) {
    work.abort();
    work = new AbortController();
    const { signal } = work;
    const id = params.get("document");
    for (const link of side.querySelectorAll(".collections a")) {
      if (link.textContent === params.get("collection")) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    fill(body, waiting("Reading"));
    try {
      if (id) await showDocumentPage(id, signal);
      else await showDocuments(params, signal);
    } catch (error) {
      if (!signal.aborted) fill(body, failure(error));
    }
  }

  /** @param {URLSearchParams} params @param {AbortSignal} signal */
  async function showDocuments(params, signal) {
    const collection = params.get("collection");
    const offset = Number(params.get("offset") ?? 0) || 0;
    const page = await get(withQuery("/api/documents", { collection, path: params.get("path"), limit: PAGE, offset }), signal);
    const line = h("div", {});
    const note = h("div", {});
    const filter = h("input", { type: "text", "aria-label": "Path pattern", placeholder: "path: docs/**", value: params.get("path") ?? "",
      onchange: (/** @type {any} */ e) => change({ path: e.target.value.trim(), offset: null }) });
    const rows = h("tbody", {}, page.documents.map(drawRow));
    const status = await app.status();
    if (signal.aborted) return;
    fill(body,
      h("div", { class: "row between" }, h("h2", {}, collection ?? "All documents", " ", h("span", { class: "quiet" }, plural(page.total, "document"))),
        h("div", { class: "row" }, filter,
          collection && h("button", { type: "button", class: "small", disabled: status.read_only, onclick: () => runSync(line, collection) }, "Sync"),
          collection && h("button", { type: "button", class: "small danger", disabled: status.read_only, onclick: () => removeCollection(collection, page.total, note) }, "Delete"))),
      line, note,
      page.total === 0 ? h("p", { class: "quiet" }, "No documents here.") : h("div", { class: "wide rows", tabindex: "0", role: "region", "aria-label": "Documents" }, h("table", {},
        h("thead", {}, h("tr", {}, ["Document", "Kind", "Chunks", "Updated"].map((word) => h("th", { scope: "col" }, word)))), rows)),
      h("div", { class: "row" },
        offset > 0 && h("a", { href: address("library", { collection, path: params.get("path"), offset: Math.max(0, offset - PAGE) }) }, "← Previous"),
        page.total > PAGE && h("span", { class: "quiet" }, `${offset + 1}–${Math.min(offset + PAGE, page.total)} of ${page.total.toLocaleString("en")}`),
        page.next_offset !== null && h("a", { href: address("library", { collection, path: params.get("path"), offset: page.next_offset }) }, "Next →")));
    await noteStale(collection, signal);
    if (!signal.aborted && stale.size) {
      fill(note, h("p", { class: "notice warn" }, `${plural(stale.size, "file")} changed since indexed: sync to refresh.`));
      fill(rows, page.documents.map(drawRow));
    }
  }

  /** @param {string | null} collection @param {AbortSignal} signal */
  async function noteStale(collection, signal) {
    const found = await get(withQuery("/api/stale", { collection }), signal);
    stale = new Map(found.stale.map((/** @type {any} */ item) => [item.document.id, item.change]));
  }

  /** @param {any} doc */
  const drawRow = (doc) => h("tr", {},
    h("td", {}, h("a", { class: "mono", href: address("library", { collection: doc.collection, document: doc.id }) }, doc.path),
      stale.has(doc.id) && [" ", h("span", { class: "badge warn" }, stale.get(doc.id))],
      doc.title && !doc.path.endsWith(doc.title) && [" ", h("span", { class: "quiet" }, doc.title)]),
    h("td", {}, doc.language || doc.kind, doc.role && [" ", h("span", { class: "badge" }, doc.role)]),
    h("td", { class: "number", "data-word": "chunks" }, doc.chunks.toLocaleString("en")), h("td", { class: "quiet nowrap" }, when(doc.updated_at)));

  /** @param {string} id @param {AbortSignal} signal */
  async function showDocumentPage(id, signal) {
    const [doc, status] = await Promise.all([get(`/api/documents/${encodeURIComponent(id)}`, signal), app.status()]);
    const note = h("div", {});
    const text = h("div", {});
    fill(body,
      h("a", { href: address("library", { collection: doc.collection }) }, `← ${doc.collection}`),
      h("div", { class: "row between" }, h("h2", { class: "mono path" }, doc.path),
        h("button", { type: "button", class: "small danger", disabled: status.read_only, onclick: () => removeDocument(doc, note) }, "Delete")),
      h("p", { class: "row quiet" }, h("span", {}, doc.title), h("span", {}, doc.language || doc.kind),
        h("span", {}, plural(doc.characters, "character")), h("span", {}, `updated ${when(doc.updated_at)}`),
        doc.stale && h("span", { class: "badge warn" }, "changed since indexed"), doc.tags.map((/** @type {string} */ tag) => h("span", { class: "badge" }, tag))),
      note, text);
    await showChunks(text, doc, signal);
  }

  /** @param {any} doc @param {HTMLElement} note */
  async function removeDocument(doc, note) {
    if (!(await confirmed("Delete from the index?", `${doc.path} leaves the index; the file itself stays. A sync of its folder brings it back.`, "Delete"))) return;
    try {
      await call("DELETE", `/api/documents/${doc.id}`);
      change({ document: null });
      drawSide();
    } catch (error) {
      fill(note, failure(error));
    }
  }

  /** @param {string} name @param {number} count @param {HTMLElement} note */
  async function removeCollection(name, count, note) {
    if (!(await confirmed("Delete the collection?", `${plural(count, "document")} of ${name} leave the index. Files stay where they are.`, "Delete"))) return;
    try {
      await call("DELETE", `/api/collections/${encodeURIComponent(name)}`);
      change({ collection: null, document: null });
      drawSide();
    } catch (error) {
      fill(note, failure(error));
    }
  }

  drawSide();
  return { update: show, unmount: () => work.abort() };
}
