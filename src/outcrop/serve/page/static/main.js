// Starts the page: theme, token, keys, and the view that the address names.

import { get, setToken, setTokenAsker, takeTokenFromAddress } from "./api.js";
import { address, go, here, onArrival } from "./address.js";
import { fill, h, plural } from "./dom.js";
import { startKeys } from "./keys.js";
import { startTheme } from "./theme.js";
import { mountChat } from "./chat.js";
import { mountEval } from "./eval.js";
import { mountLibrary } from "./library.js";
import { mountMap } from "./map.js";
import { mountSearch } from "./search.js";

/**
 * @typedef {{update: (params: URLSearchParams) => void, unmount?: () => void, escape?: () => boolean, focus?: () => void}} View
 * @typedef {{status: () => Promise<any>, refresh: () => Promise<any>}} App
 */

/** @type {Record<string, {title: string, key: string, mount: (root: HTMLElement, app: App) => View}>} */
const VIEWS = {
  search: { title: "Search", key: "s", mount: mountSearch },
  library: { title: "Library", key: "l", mount: mountLibrary },
  map: { title: "Map", key: "m", mount: mountMap },
  chat: { title: "Chat", key: "c", mount: mountChat },
  eval: { title: "Eval", key: "e", mount: mountEval },
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const nav = /** @type {HTMLElement} */ (document.getElementById("nav"));

/** @type {Promise<any> | null} */
let known = null;
/** @type {App} */
const app = {
  status: () => (known ??= app.refresh()),
  refresh: () => {
    known = get("/api/status");
    known.then(showStatus, (error) => showStatus(null, error));
    return known;
  },
};

/** @param {any} status @param {Error} [error] */
function showStatus(status, error) {
  const line = /** @type {HTMLElement} */ (document.getElementById("status"));
  if (!status) {
    line.textContent = error?.message ?? "";
    known = null;
    return;
  }
  const parts = [plural(status.stats.documents, "document"), plural(status.stats.chunks, "chunk")];
  if (status.pending) setTimeout(app.refresh, 3000); // until they have their vectors
  if (status.pending) parts.push(`${status.pending.toLocaleString("en")} waiting for vectors`);
  if (status.read_only) parts.push("read only");
  line.textContent = parts.join(" · ");
  line.title = `${status.db} · ${status.model.name}`;
}

/** @returns {Promise<string | null>} */
function askForToken() {
  return new Promise((answer) => {
    const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-labelledby": "token-title" },
      h("form", { method: "dialog", class: "stack" },
        h("h2", { id: "token-title" }, "This server asks for its token"),
        h("p", { class: "quiet" }, "It is the one it was started with. It stays in this tab and is forgotten when you close it."),
        h("label", { for: "token" }, "Token"), input,
        h("div", { class: "row" }, h("button", { class: "primary", value: "ok" }, "Continue")))));
    dialog.addEventListener("close", () => {
      const token = /** @type {HTMLInputElement} */ (input).value.trim();
      dialog.remove();
      if (dialog.returnValue === "ok" && token) setToken(token);
      answer(dialog.returnValue === "ok" && token ? token : null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** @type {{name: string, view: View} | null} */
let shown = null;

/** Show what the address names. */
function arrive() {
  const { view: asked, params } = here();
  const name = Object.hasOwn(VIEWS, asked) ? asked : "search";
  if (shown?.name !== name) {
    shown?.view.unmount?.();
    fill(main);
    main.className = `view-${name}`;
    document.title = `${VIEWS[name].title} · Outcrop`;
    for (const link of nav.querySelectorAll("a")) {
      if (link.dataset.view === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    shown = { name, view: VIEWS[name].mount(main, app) };
  }
  shown.view.update(params);
}

/** The last place of each view, so that coming back to a view finds it as it was left. @type {Record<string, string>} */
const places = {};

/** @param {string} name */
function visit(name) {
  if (shown) places[shown.name] = location.hash;
  go(places[name] && shown?.name !== name ? places[name] : address(name));
  shown?.view.focus?.();
}

takeTokenFromAddress();
setTokenAsker(askForToken);
startTheme(/** @type {HTMLButtonElement} */ (document.getElementById("theme")));
fill(nav, Object.entries(VIEWS).map(([name, { title }]) =>
  h("a", { href: address(name), "data-view": name, onclick: (/** @type {Event} */ event) => { event.preventDefault(); visit(name); } }, title)));
/** @type {HTMLElement} */ (document.getElementById("skip")).addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
startKeys({
  views: Object.fromEntries(Object.entries(VIEWS).map(([name, { key }]) => [key, name])),
  visit,
  focusSearch: () => {
    if (shown?.name !== "search") visit("search");
    shown?.view.focus?.();
  },
  escape: () => shown?.view.escape?.() ?? false,
});
onArrival(arrive);
arrive();
app.status().catch(() => {}); // the line above says what went wrong
