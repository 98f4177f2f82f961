// Chat: answers as they are written, their sources beside them, citations that open the passage.

import { stream } from "./api.js";
import { failure, fill, h, plural, waiting } from "./dom.js";
import { showDocument } from "./document.js";
import { drawProse } from "./prose.js";

const MODES = [
  ["context", "Context", "passages are put before every question"],
  ["tool", "Tool", "the model searches when it wants to"],
  ["off", "Off", "the model alone, nothing from the index"],
];
const KEY = "outcrop.chat.mode";

/** The conversation outlives a change of view, not the tab. @type {{role: string, content: string, sources?: any[], notes?: string[], error?: string}[]} */
let turns = [];

/** @param {HTMLElement} root @param {import("./main.js").App} app @returns {import("./main.js").View} */
export function mountChat(root, app) {
  let mode = sessionStorage.getItem(KEY) ?? "context";
  /** @type {AbortController | null} */
  let running = null;
  let reading = new AbortController();
  const log = h("ol", { class: "turns", "aria-label": "Conversation", "aria-live": "polite", tabindex: "0" });
  const input = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "chat-input", rows: 2, "aria-label": "Message", placeholder: "Ask about what is indexed", disabled: true }));
  const send = /** @type {HTMLButtonElement} */ (h("button", { class: "primary", disabled: true }, "Send"));
  const stop = h("button", { type: "button", hidden: true, onclick: () => running?.abort() }, "Stop");
  const sources = h("div", { class: "stack sources" });
  const model = h("p", { class: "quiet" });
  const form = h("form", { class: "chat-form", onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); ask(); } },
    input, h("div", { class: "row between" },
      h("fieldset", { class: "modes" }, h("legend", { class: "visually-hidden" }, "Retrieval"), MODES.map(([name, word, hint]) =>
        h("label", { title: hint }, h("input", { type: "radio", name: "mode", value: name, checked: name === mode,
          onchange: () => { mode = name; sessionStorage.setItem(KEY, name); } }), word))),
      h("div", { class: "row" }, stop, send)));
  root.append(h("div", { class: "page chat" },
    h("section", { class: "chat-main", "aria-label": "Chat" }, h("div", { class: "row between" }, h("h1", {}, "Chat"), model,
      h("button", { type: "button", class: "small", onclick: () => { running?.abort(); turns = []; draw(); showSources(null); } }, "New")), log, form),
    h("aside", { class: "chat-side card", "aria-label": "Sources" }, sources)));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      ask();
    }
  });

  app.status().then((status) => {
    if (status.chat) {
      model.textContent = status.chat;
      input.disabled = send.disabled = false;
      input.focus({ preventScroll: true });
    } else {
      fill(log, h("li", {}, h("div", { class: "notice stack" }, h("strong", {}, "No chat model is set up."),
        h("p", {}, "Search, library and map need none. To chat, name a model of any OpenAI-compatible server (Ollama, llama.cpp, vLLM, OpenAI …) and start again:"),
        h("pre", {}, "OUTCROP_CHAT_MODEL=llama3.2 outcrop serve\n# another endpoint: OUTCROP_CHAT_URL=http://127.0.0.1:8080/v1\n# its key, if it needs one: OUTCROP_CHAT_KEY=…"))));
    }
  }, (error) => fill(log, h("li", {}, failure(error))));

  /** A citation as a button that opens the passage. @param {any[]} from */
  const citing = (from) => (/** @type {number} */ number) => {
    const source = from.find((one) => one.number === number);
    return source ? h("button", { type: "button", class: "cite", "aria-label": `Source ${number}: ${source.place}`, onclick: () => openSource(source, from) }, number) : `[${number}]`;
  };

  /** @param {typeof turns[number]} turn @param {boolean} live */
  const drawTurn = (turn, live) => h("li", { class: `turn ${turn.role}` },
    h("p", { class: "who" }, turn.role === "user" ? "You" : "Answer"),
    turn.notes?.map((note) => h("p", { class: "quiet" }, note)),
    h("div", { class: "said-text" }, turn.role === "user" ? turn.content : drawProse(turn.content, citing(turn.sources ?? []))),
    live && !turn.content && waiting("Thinking"), turn.error && failure(turn.error));

  function draw() {
    fill(log, turns.map((turn, at) => drawTurn(turn, running !== null && at === turns.length - 1)));
    log.scrollTop = log.scrollHeight;
  }

  /** @param {any[] | null} list */
  function showSources(list) {
    reading.abort();
    if (!list) fill(sources, h("h2", {}, "Sources"), h("p", { class: "quiet" }, "What an answer rests on appears here."));
    else fill(sources, h("h2", {}, plural(list.length, "source")), h("ol", { class: "source-list" }, list.map((source) => h("li", {},
      h("button", { type: "button", class: "ghost source", onclick: () => openSource(source, list) },
        h("span", { class: "badge" }, source.number), h("span", { class: "mono path" }, source.place),
        h("span", { class: "quiet source-text" }, source.text.slice(0, 160)))))));
  }

  /** @param {any} source @param {any[]} list */
  function openSource(source, list) {
    reading.abort();
    reading = new AbortController();
    const body = h("div", { class: "source-body", tabindex: "0", role: "region", "aria-label": source.place });
    fill(sources, h("div", { class: "row between" }, h("h2", { class: "mono path" }, source.place),
      h("button", { type: "button", class: "small", onclick: () => showSources(list) }, "All sources")), body);
    showDocument(body, { document: { id: source.document_id }, line_start: source.line_start, line_end: source.line_end }, reading.signal);
  }

  async function ask() {
    const text = input.value.trim();
    if (!text || running) return;
    input.value = "";
    turns.push({ role: "user", content: text });
    const messages = turns.filter((turn) => turn.content && !turn.error).map(({ role, content }) => ({ role, content }));
    /** @type {typeof turns[number]} */
    const turn = { role: "assistant", content: "", sources: [], notes: [] };
    turns.push(turn);
    running = new AbortController();
    stop.hidden = false;
    send.disabled = true;
    draw();
    try {
      await stream("POST", "/api/chat", { messages, mode }, (name, data) => {
        if (name === "delta") turn.content += data.text;
        else if (name === "sources") {
          turn.sources = data.sources;
          showSources(data.sources);
        } else if (name === "tool") turn.notes?.push(`Searched for “${data.query}”`);
        else if (name === "notice") turn.notes?.push(data.message);
        else if (name === "error") turn.error = data.message;
        draw();
      }, running.signal);
    } catch (error) {
      if (running.signal.aborted) turn.notes?.push("Stopped.");
      else turn.error = error instanceof Error ? error.message : String(error);
    }
    running = null;
    stop.hidden = true;
    send.disabled = false;
    draw();
    input.focus({ preventScroll: true });
  }

  draw();
  showSources(turns.findLast((turn) => turn.sources?.length)?.sources ?? null);
  return {
    update() {},
    unmount() {
      running?.abort();
      reading.abort();
    },
    escape() {
      if (!running) return false;
      running.abort();
      return true;
    },
    focus: () => input.focus(),
  };
}
