// An empty index: how to start, here or on the command line.

import { drawAdd } from "./adding.js";
import { address, go } from "./address.js";
import { h } from "./dom.js";

const COMMANDS = ["outcrop add ~/notes", "outcrop search how are retries configured", "outcrop mcp"];

/** @param {import("./main.js").App} app @param {any} status */
export const drawStart = (app, status) =>
  h("div", { class: "page narrow stack start" },
    h("h1", {}, "Nothing is indexed yet"),
    h("p", {}, "Add a folder of notes, documents or code. It stays on this machine."),
    h("section", { class: "card", "aria-label": "Add" }, drawAdd(app, status, () => go(address("library")))),
    h("h2", {}, "Or on the command line"),
    h("ol", { class: "commands" }, COMMANDS.map((command, at) =>
      h("li", {}, h("code", {}, command), h("span", { class: "quiet" }, ["index a folder", "search it", "let an agent search it"][at])))));
