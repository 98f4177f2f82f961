// Map: what refers to what, around a declaration or of a whole collection. A list beside it says the same in words.

import { address, change } from "./address.js";
import { get, withQuery } from "./api.js";
import { failure, fill, h, plural, svg, waiting } from "./dom.js";
import { layOut } from "./layout.js";

const LABELS = 26; // more than this many labels cover each other
const RELATIONS = /** @type {Record<string, string>} */ ({ call: "calls", type: "has the type", inherit: "inherits from", import: "imports", use: "uses", link: "links to" });

/** @param {any} node */
const nameOf = (node) => node.symbol || node.path.split("/").at(-1);

/** @param {HTMLElement} root @param {import("./main.js").App} app @returns {import("./main.js").View} */
export function mountMap(root, app) {
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "text", id: "map-target", placeholder: "Pool.acquire, pool.py:120 …", autocomplete: "off", spellcheck: "false" }));
  const select = /** @type {HTMLSelectElement} */ (h("select", { id: "map-collection", onchange: () => change({ collection: select.value, target: null }) }, h("option", { value: "" }, "All collections")));
  const picture = h("div", { class: "map-picture" });
  const side = h("div", { class: "stack map-side" });
  const note = h("div", { role: "status" });
  root.append(h("div", { class: "page stack" },
    h("form", { class: "row map-bar", onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); change({ target: input.value.trim() }); } },
      h("h1", {}, "Map"), h("label", { for: "map-target" }, "Around"), input, h("label", { for: "map-collection" }, "in"), select,
      h("button", { class: "primary" }, "Show"), h("button", { type: "button", onclick: () => change({ target: null }) }, "Most central")),
    note, h("div", { class: "map" }, picture, side)));
  let work = new AbortController();
  let refocus = false;
  const collections = app.status().then((status) => {
    select.append(...status.collections.map((/** @type {any} */ info) => h("option", { value: info.name }, info.name)));
  }, () => {});

  /** @param {any} node */
  function walk(node) {
    refocus = true;
    change({ target: node.id });
  }

  /** @param {any} graph */
  function draw(graph) {
    const width = Math.max(320, picture.clientWidth); // in pixels of the screen, so that labels are as large as other text
    const height = Math.round(width * (width < 600 ? 1.1 : 0.7));
    const places = layOut(graph.nodes, graph.edges, width, height);
    const most = Math.max(...graph.nodes.map((/** @type {any} */ node) => node.rank), 1e-9);
    /** @param {any} node */
    const radius = (node) => 5 + 15 * Math.sqrt(node.rank / most);
    const targets = new Set(graph.target);
    const named = new Set([...graph.target, ...graph.nodes.slice(0, width < 600 ? LABELS / 2 : LABELS).map((/** @type {any} */ node) => node.id)]);
    fill(picture, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${plural(graph.nodes.length, "declaration")} and ${plural(graph.edges.length, "reference")}; the list beside it has the same` },
      svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z", class: "tip" }))),
      graph.edges.map((/** @type {any} */ edge) => {
        const [a, b] = [places.get(edge.source), places.get(edge.target)];
        const end = graph.nodes.find((/** @type {any} */ node) => node.id === edge.target);
        if (!a || !b || a === b) return null;
        const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
        const gap = radius(end) + 3;
        return svg("line", { class: `edge${targets.has(edge.source) || targets.has(edge.target) ? " near" : ""}`, x1: a.x, y1: a.y, "marker-end": "url(#tip)",
          x2: b.x - ((b.x - a.x) / length) * gap, y2: b.y - ((b.y - a.y) / length) * gap, "stroke-opacity": 0.3 + 0.6 * Math.min(edge.weight, 1) });
      }),
      graph.nodes.map((/** @type {any} */ node) => {
        const at = places.get(node.id);
        return svg("g", { class: `node${targets.has(node.id) ? " target" : ""}`, onclick: () => walk(node), transform: `translate(${at?.x} ${at?.y})` },
          svg("title", {}, `${nameOf(node)} · ${node.kind} · ${node.path}:${node.line}`), svg("circle", { r: radius(node) }),
          named.has(node.id) && svg("text", { y: (at?.y ?? 0) > height / 2 ? radius(node) + 14 : -radius(node) - 5, "text-anchor": "middle" }, nameOf(node).slice(0, 28)));
      })));
  }

  /** @param {any} graph */
  function list(graph) {
    const byId = new Map(graph.nodes.map((/** @type {any} */ node) => [node.id, node]));
    const targets = graph.nodes.filter((/** @type {any} */ node) => graph.target.includes(node.id));
    const others = graph.nodes.filter((/** @type {any} */ node) => !graph.target.includes(node.id));
    /** @param {any} node @param {string} [words] */
    const link = (node, words) => h("li", {},
      h("button", { type: "button", class: "ghost map-link", onclick: () => walk(node) }, words && h("span", { class: "quiet" }, `${words} `), nameOf(node)),
      h("span", { class: "mono quiet" }, `${node.path}:${node.line}`));
    const near = graph.edges.filter((/** @type {any} */ edge) => graph.target.includes(edge.source) !== graph.target.includes(edge.target));
    fill(side,
      targets.map((/** @type {any} */ node) => h("section", { class: "card stack" },
        h("h2", { tabindex: "-1", class: "map-target" }, nameOf(node)), h("p", { class: "mono quiet path" }, `${node.path}:${node.line}`),
        h("p", { class: "row" }, h("span", { class: "badge" }, node.kind || "file"),
          h("a", { href: address("search", { q: nameOf(node), collection: node.collection }) }, "Search"),
          h("a", { href: address("library", { collection: node.collection, document: node.document_id }) }, "Document")))),
      near.length > 0 && h("section", { "aria-labelledby": "map-near" }, h("h2", { id: "map-near" }, "References"),
        h("ul", { class: "map-list" }, near.slice(0, 60).map((/** @type {any} */ edge) => graph.target.includes(edge.source)
          ? link(byId.get(edge.target), RELATIONS[edge.relation] ?? edge.relation) : link(byId.get(edge.source), `← ${edge.relation} from`)))),
      h("section", { "aria-labelledby": "map-all" }, h("h2", { id: "map-all" }, targets.length ? "Also near, most central first" : "Most central first"),
        h("ul", { class: "map-list" }, others.map((/** @type {any} */ node) => link(node)))));
    side.addEventListener("keydown", moveInList);
    if (refocus) /** @type {HTMLElement | null} */ (side.querySelector(".map-target"))?.focus();
    refocus = false;
  }

  /** @param {KeyboardEvent} event */
  function moveInList(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const links = /** @type {HTMLElement[]} */ ([...side.querySelectorAll(".map-link")]);
    const next = links[links.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }

  return {
    async update(params) {
      work.abort();
      work = new AbortController();
      const { signal } = work;
      const target = params.get("target") ?? "";
      if (document.activeElement !== input) input.value = /^\d+$/.test(target) ? "" : target;
      fill(note, waiting("Drawing"));
      try {
        await collections;
        select.value = params.get("collection") ?? "";
        const graph = await get(withQuery("/api/graph", { target, collection: params.get("collection"), limit: 60 }), signal);
        fill(note, graph.left_out > 0 && h("p", { class: "quiet" }, `${plural(graph.left_out, "more declaration")} near, not drawn.`));
        if (!graph.nodes.length) {
          fill(picture, h("p", { class: "quiet map-empty" }, "There is no source code here with references to draw. Add a repository to see its map."));
          fill(side);
          return;
        }
        draw(graph);
        list(graph);
      } catch (error) {
        if (!signal.aborted) fill(note, failure(error));
      }
    },
    unmount: () => work.abort(),
    escape: () => false,
  };
}
