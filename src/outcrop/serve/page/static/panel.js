// What is beside the results: the document of a hit, why the hit stands there, what was left out, the packed context.

import { address } from "./address.js";
import { fill, h } from "./dom.js";
import { about, place } from "./hits.js";
import { showContext } from "./context.js";
import { showDocument } from "./document.js";
import { showLeftOut, showWhy } from "./why.js";

const TABS = /** @type {const} */ ([
  ["document", "Document"],
  ["why", "Why"],
  ["left", "Left out"],
  ["context", "Context"],
]);

/** @param {() => void} onClose */
export function makePanel(onClose) {
  const title = h("h2", { id: "panel-title", class: "panel-title" });
  const where = h("p", { class: "mono panel-place" });
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "About this hit" });
  const body = h("div", { class: "panel-body", role: "tabpanel", id: "panel-body", tabindex: "0", "aria-labelledby": "panel-title" });
  const map = h("a", { class: "action", href: "#" }, "Map");
  const element = h("aside", { class: "panel", "aria-labelledby": "panel-title", hidden: true },
    h("header", { class: "panel-head" }, h("div", { class: "panel-names" }, title, where), map,
      h("button", { type: "button", class: "ghost", onclick: onClose, "aria-label": "Close" }, "✕")),
    tabs, body);
  let shown = "";
  /** @type {AbortController} */
  let work = new AbortController();

  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const links = /** @type {HTMLElement[]} */ ([...tabs.children]);
    const next = links[(links.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step + links.length) % links.length];
    event.preventDefault();
    next.click();
    /** @type {HTMLElement} */ (tabs.querySelector('[aria-selected="true"]')).focus();
  });

  return {
    element,
    hide() {
      element.hidden = true;
      shown = "";
      work.abort();
    },
    /** @param {any} hit @param {number} rank @param {URLSearchParams} params */
    show(hit, rank, params) {
      const tab = TABS.some(([name]) => name === params.get("tab")) ? params.get("tab") : "document";
      const key = `${params}`;
      element.hidden = false;
      if (shown === key) return;
      shown = key;
      work.abort();
      work = new AbortController();
      title.textContent = about(hit);
      where.textContent = place(hit);
      map.setAttribute("href", address("map", { target: hit.chunk_ids[0], collection: hit.document.collection }));
      map.hidden = !hit.document.language;
      const focused = tabs.contains(document.activeElement);
      fill(tabs, TABS.map(([name, words]) => {
        const to = new URLSearchParams(params);
        if (name === "document") to.delete("tab");
        else to.set("tab", name);
        return h("a", { role: "tab", href: address("search", to), "aria-selected": String(name === tab), "aria-controls": "panel-body",
          tabindex: name === tab ? "0" : "-1" }, words);
      }));
      if (focused) /** @type {HTMLElement} */ (tabs.querySelector('[aria-selected="true"]')).focus();
      body.scrollTop = 0;
      if (tab === "why") showWhy(body, hit, rank);
      else if (tab === "left") showLeftOut(body, params, work.signal);
      else if (tab === "context") showContext(body, params, work.signal);
      else showDocument(body, { document: hit.document, line_start: hit.line_start, line_end: hit.line_end, why: hit.why }, work.signal);
    },
  };
}
