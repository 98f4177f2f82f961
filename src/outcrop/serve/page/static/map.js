// Map: what refers to what, around a declaration or of a whole collection. A list beside it says the same in words.

import { address, change } from "./address.js";
import { get, withQuery } from "./api.js";
import { failure, fill, h, plural, svg, waiting } from "./dom.js";
import { icon } from "./icons.js";
import { hullOf, layOut, placeLabels } from "./layout.js";
import { writeQuery } from "./query.js";

const RELATIONS = /** @type {Record<string, string>} */ ({ call: "calls", type: "has the type", inherit: "inherits from", import: "imports", use: "uses", link: "links to" });
const NARROW = 600;

/** @param {any} node */
const nameOf = (node) => node.symbol || node.path.split("/").at(-1);
/** @param {any} node */
const labelOf = (node) => (nameOf(node).length > 28 ? `${nameOf(node).slice(0, 27)}…` : nameOf(node));
/** @param {any} node */
const folderOf = (node) => node.path.split("/").slice(0, -1).join("/") || node.collection;

/** One node a declaration: the chunks of a long one are joined, with what refers to them. @param {any} graph */
function joinDeclarations(graph) {
  const first = new Map();
  const ids = new Map();
  for (const node of graph.nodes) {
    const key = node.symbol ? `${node.document_id} ${node.symbol}` : node.id;
    if (!first.has(key)) first.set(key, node);
    ids.set(node.id, first.get(key).id);
  }
  const edges = new Map();
  for (const edge of graph.edges) {
    const [source, target] = [ids.get(edge.source), ids.get(edge.target)];
    const key = `${source} ${target} ${edge.relation}`;
    if (source !== undefined && target !== undefined && source !== target && !edges.has(key)) edges.set(key, { ...edge, source, target });
  }
  return { ...graph, nodes: [...first.values()], edges: [...edges.values()], target: [...new Set(graph.target.map((/** @type {number} */ id) => ids.get(id) ?? id))] };
}

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
  side.addEventListener("keydown", moveInList);
  let work = new AbortController();
  let refocus = false;
  const collections = app.status().then((status) => {
    select.append(...status.collections.map((/** @type {any} */ info) => h("option", { value: info.name }, info.name)));
  }, () => {});
  const ruler = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

  /** @param {any} node */
  function walk(node) {
    refocus = true;
    change({ target: node.id });
  }

  /** Lay a graph out once; zoom and pan draw it again. @param {any} graph */
  function show(graph) {
    const width = Math.max(300, picture.clientWidth); // in pixels of the screen, so that labels are as large as other text
    const height = Math.round(width < NARROW ? width * 1.2 : Math.min(width * 0.72, innerHeight - 170));
    const most = Math.max(...graph.nodes.map((/** @type {any} */ node) => node.rank), 1e-9);
    const nodes = graph.nodes.map((/** @type {any} */ node) => ({ ...node, group: folderOf(node), radius: (width < NARROW ? 4 : 5) + (width < NARROW ? 8 : 12) * Math.sqrt(node.rank / most) }));
    const places = layOut(nodes, graph.edges, width, height);
    const view = { scale: 1, x: 0, y: 0 };
    const relations = [...new Set(graph.edges.map((/** @type {any} */ edge) => edge.relation))];
    const canvas = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${plural(graph.nodes.length, "declaration")} and ${plural(graph.edges.length, "reference")}; the list beside it has the same` });
    const paint = () => draw(canvas, nodes, graph, places, view, width, height);
    /** @param {number} by @param {number} [x] @param {number} [y] the place that stays where it is */
    const zoom = (by, x = width / 2, y = height / 2) => {
      const scale = Math.min(6, Math.max(0.6, view.scale * by));
      Object.assign(view, { x: x - ((x - view.x) * scale) / view.scale, y: y - ((y - view.y) * scale) / view.scale, scale });
      paint();
    };
    followPointer(canvas, view, paint, zoom, width);
    paint();
    fill(picture, canvas,
      h("div", { class: "map-zoom" },
        h("button", { type: "button", class: "ghost", "aria-label": "Zoom in", onclick: () => zoom(1.4) }, icon("plus")),
        h("button", { type: "button", class: "ghost", "aria-label": "Zoom out", onclick: () => zoom(1 / 1.4) }, icon("minus")),
        h("button", { type: "button", class: "ghost", "aria-label": "Show all", onclick: () => { Object.assign(view, { scale: 1, x: 0, y: 0 }); paint(); } }, icon("retry"))),
      h("p", { class: "map-key" }, relations.map((relation) => h("span", { class: `key edge-${relation}` }, RELATIONS[/** @type {string} */ (relation)] ?? relation))));
  }

  /** Wheel and drag. @param {SVGElement} canvas @param {{scale: number, x: number, y: number}} view @param {() => void} paint @param {(by: number, x?: number, y?: number) => void} zoom @param {number} width */
  function followPointer(canvas, view, paint, zoom, width) {
    /** @type {{x: number, y: number} | null} */
    let held = null;
    const unit = () => width / canvas.getBoundingClientRect().width;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && view.scale === 1 && event.deltaY > 0) return; // the page scrolls
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 400), (event.clientX - box.x) * unit(), (event.clientY - box.y) * unit());
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { held = { x: event.clientX, y: event.clientY }; });
    canvas.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons || event.pointerType === "touch") return;
      view.x += (event.clientX - held.x) * unit();
      view.y += (event.clientY - held.y) * unit();
      held = { x: event.clientX, y: event.clientY };
      paint();
    });
  }

  /** @param {SVGElement} canvas @param {any[]} nodes @param {any} graph @param {Map<number, {x: number, y: number}>} places @param {{scale: number, x: number, y: number}} view @param {number} width @param {number} height */
  function draw(canvas, nodes, graph, places, view, width, height) {
    const at = new Map(nodes.map((node) => {
      const { x, y } = /** @type {{x: number, y: number}} */ (places.get(node.id));
      return [node.id, { x: x * view.scale + view.x, y: y * view.scale + view.y, node }];
    }));
    const targets = new Set(graph.target);
    ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const folders = [...Map.groupBy([...at.values()], ({ node }) => node.group)].filter(([, own]) => own.length > 2)
      .map(([name, own]) => ({ name, own, top: own.reduce((a, b) => (a.y < b.y ? a : b)) }));
    const circles = [...at.values()].map(({ x, y, node }) => ({ x: x - node.radius, y: y - node.radius, width: 2 * node.radius, height: 2 * node.radius }));
    const ordered = [...nodes].sort((a, b) => Number(targets.has(b.id)) - Number(targets.has(a.id)) || b.rank - a.rank);
    const labels = placeLabels([
      ...ordered.slice(0, 12).map((node) => ({ id: node.id, ...pointOf(at, node), width: ruler.measureText(labelOf(node)).width + 4 })),
      ...folders.map(({ name, top }) => ({ id: name, x: top.x, y: top.y, radius: 26, width: ruler.measureText(name).width + 6 })),
      ...ordered.slice(12).map((node) => ({ id: node.id, ...pointOf(at, node), width: ruler.measureText(labelOf(node)).width + 4 }))], circles, width, height);
    fill(canvas,
      svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z", class: "tip" }))),
      folders.map(({ own }) => svg("polygon", { class: "hull", points: hullOf(own).map(({ x, y }) => `${x},${y}`).join(" ") })),
      graph.edges.map((/** @type {any} */ edge) => {
        const [a, b] = [at.get(edge.source), at.get(edge.target)];
        if (!a || !b) return null;
        const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
        const gap = b.node.radius + 3;
        return svg("line", { class: `edge edge-${edge.relation}${targets.has(edge.source) || targets.has(edge.target) ? " near" : ""}`, x1: a.x, y1: a.y, "marker-end": "url(#tip)",
          x2: b.x - ((b.x - a.x) / length) * gap, y2: b.y - ((b.y - a.y) / length) * gap });
      }),
      folders.map(({ name }) => labels.has(name) && svg("text", { class: "folder", x: labels.get(name)?.x, y: labels.get(name)?.y }, name)),
      [...at.values()].map(({ x, y, node }) => svg("g", { class: `node${targets.has(node.id) ? " target" : ""}`, onclick: () => walk(node) },
        svg("title", {}, `${nameOf(node)} · ${node.kind} · ${node.path}:${node.line}`), svg("circle", { cx: x, cy: y, r: node.radius }),
        labels.has(node.id) && svg("text", { x: labels.get(node.id)?.x, y: labels.get(node.id)?.y }, labelOf(node)))));
  }

  /** @param {Map<number, {x: number, y: number, node: any}>} at @param {any} node */
  function pointOf(at, node) {
    const { x, y } = /** @type {{x: number, y: number}} */ (at.get(node.id));
    return { x, y, radius: node.radius };
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
          h("a", { href: address("search", { q: writeQuery(nameOf(node), { in: node.collection }) }) }, "Search"),
          h("a", { href: address("library", { collection: node.collection, document: node.document_id }) }, "Document")))),
      near.length > 0 && h("section", { "aria-labelledby": "map-near" }, h("h2", { id: "map-near" }, "References"),
        h("ul", { class: "map-list" }, near.slice(0, 60).map((/** @type {any} */ edge) => graph.target.includes(edge.source)
          ? link(byId.get(edge.target), RELATIONS[edge.relation] ?? edge.relation) : link(byId.get(edge.source), `← ${edge.relation} from`)))),
      h("section", { "aria-labelledby": "map-all" }, h("h2", { id: "map-all" }, targets.length ? "Also near, most central first" : "Most central first"),
        h("ul", { class: "map-list" }, others.map((/** @type {any} */ node) => link(node)))));
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
        const graph = joinDeclarations(await get(withQuery("/api/graph", { target, collection: params.get("collection"), limit: innerWidth < NARROW ? 30 : 60 }), signal));
        fill(note, graph.left_out > 0 && h("p", { class: "quiet" }, `${plural(graph.left_out, "more declaration")} near, not drawn.`));
        if (!graph.nodes.length) {
          fill(picture, h("p", { class: "quiet map-empty" }, "There is no source code here with references to draw. Add a repository to see its map."));
          fill(side);
          return;
        }
        show(graph);
        list(graph);
      } catch (error) {
        if (!signal.aborted) fill(note, failure(error));
      }
    },
    unmount: () => work.abort(),
    escape: () => false,
  };
}
