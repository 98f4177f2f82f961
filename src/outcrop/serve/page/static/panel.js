// What is beside the results: a hit in its document and why it stands there; or the context of the query and what was
// left out of it.

import { address } from "./address.js";
import { directed } from "./directions.js";
import { fill, h } from "./dom.js";
import { about, editorLink, place } from "./hits.js";
import { icon } from "./icons.js";
import { showContext } from "./context.js";
import { showDocument } from "./document.js";
import { showLeftOut, showWhy } from "./why.js";

const OF_HIT = [["document", "Document"], ["why", "Why"]];
const OF_QUERY = [["context", "Context"], ["left", "Left out"]];

/** Whether the address asks for the panel of the query. @param {URLSearchParams} params */
export const isQueryPanel = (params) => OF_QUERY.some(([name]) => name === params.get("tab"));

/** @param {() => void} onClose */
export function makePanel(onClose) {
  const title = h("h2", { id: "panel-title", class: "panel-title" });
  const where = h("p", { class: "mono panel-place" });
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "What is shown" });
  const body = h("div", { class: "panel-body", role: "tabpanel", id: "panel-body", tabindex: "0", "aria-labelledby": "panel-title" });
  const links = h("span", { class: "row" });
  const element = h("aside", { class: "panel", "aria-labelledby": "panel-title", hidden: true },
    h("header", { class: "panel-head" }, h("div", { class: "panel-names" }, title, where), links,
      h("button", { type: "button", class: "ghost", onclick: onClose, "aria-label": "Close", title: "Close (Esc)" }, icon("close"))),
    tabs, body);
  let shown = "";
  /** @type {AbortController} */
  let work = new AbortController();

  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const own = /** @type {HTMLElement[]} */ ([...tabs.children]);
    event.preventDefault();
    own[(own.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step + own.length) % own.length].click();
    /** @type {HTMLElement} */ (tabs.querySelector('[aria-selected="true"]')).focus();
  });

  /** @param {string[][]} names @param {string} tab @param {URLSearchParams} params */
  function drawTabs(names, tab, params) {
    const focused = tabs.contains(document.activeElement);
    fill(tabs, names.map(([name, words]) => {
      const to = new URLSearchParams(params);
      if (name === "document") to.delete("tab");
      else to.set("tab", name);
      return h("a", { role: "tab", href: address("search", to), "aria-selected": String(name === tab), "aria-controls": "panel-body", tabindex: name === tab ? "0" : "-1" }, words);
    }));
    if (focused) /** @type {HTMLElement} */ (tabs.querySelector('[aria-selected="true"]')).focus();
  }

  /** @param {URLSearchParams} params @returns {boolean} whether there is something new to show */
  function begin(params) {
    element.hidden = false;
    if (shown === `${params}`) return false;
    shown = `${params}`;
    work.abort();
    work = new AbortController();
    body.scrollTop = 0;
    return true;
  }

  return {
    element,
    hide() {
      element.hidden = true;
      shown = "";
      work.abort();
    },
    /** @param {URLSearchParams} params */
    showQuery(params) {
      if (!begin(params)) return;
      const tab = params.get("tab") ?? "context";
      title.textContent = "Context of this question";
      where.textContent = "What an agent would be given";
      fill(links);
      drawTabs(OF_QUERY, tab, params);
      if (tab === "left") showLeftOut(body, params, work.signal);
      else showContext(body, params, work.signal);
    },
    /** @param {any} hit @param {number} rank @param {URLSearchParams} params */
    showHit(hit, rank, params) {
      if (!begin(params)) return;
      const tab = params.get("tab") === "why" ? "why" : "document";
      const editor = editorLink(hit);
      fill(title, directed(about(hit)));
      where.textContent = place(hit);
      fill(links, editor && h("a", { class: "button ghost small", href: editor }, icon("edit"), "Edit"),
        hit.document.language && h("a", { class: "button ghost small", href: address("map", { target: hit.chunk_ids[0], collection: hit.document.collection }) }, icon("map"), "Map"));
      drawTabs(OF_HIT, tab, params);
      if (tab === "why") showWhy(body, hit, rank);
      else showDocument(body, { document: hit.document, line_start: hit.line_start, line_end: hit.line_end, why: hit.why }, work.signal);
    },
  };
}
