// Chat: answers as they are written, their sources beside them, citations that open the passage; earlier conversations.

import { get, stream } from "./api.js";
import { copy, failure, fill, h, keep, kept, plural, waiting } from "./dom.js";
import { showDocument } from "./document.js";
import { opening } from "./excerpt.js";
import { icon } from "./icons.js";
import { drawProse } from "./prose.js";

const MODES = [
  ["context", "Context", "passages are put before every question"],
  ["tool", "Tool", "the model searches when it wants to"],
  ["off", "Off", "the model alone, nothing from the index"],
];
const [MODE, TALKS, MODEL] = ["outcrop.chat.mode", "outcrop.chat.talks", "outcrop.chat.model"];
const KEPT = 20;
const OPENING = 160;

/** @typedef {{role: string, content: string, sources?: any[], notes?: string[], remarks?: string[], error?: string}} Turn what is told before an answer, and what is to be known of it */
/** The conversation outlives a change of view; earlier ones stay in this browser. @type {{id: number, turns: Turn[]}} */
let talk = { id: Date.now(), turns: [] };

/** Keep the conversation, without the texts of its sources. */
function keepTalk() {
  const others = kept(TALKS, []).filter((/** @type {typeof talk} */ one) => one.id !== talk.id);
  const turns = talk.turns.map((turn) => ({ ...turn, sources: turn.sources?.map((source) => ({ ...source, text: opening(source, OPENING) })) }));
  keep(TALKS, (turns.length ? [{ id: talk.id, turns }, ...others] : others).slice(0, KEPT));
}

/** @param {HTMLElement} root @param {import("./main.js").App} app @returns {import("./main.js").View} */
export function mountChat(root, app) {
  let mode = sessionStorage.getItem(MODE) ?? "context";
  /** @type {{server: string, model: string} | null} a model found on this machine, where none is set */
  let chosen = null;
  /** @type {AbortController | null} */
  let running = null;
  let reading = new AbortController();
  const log = h("ol", { class: "turns", "aria-label": "Conversation", "aria-live": "polite", tabindex: "0" });
  const input = /** @type {HTMLTextAreaElement} */ (h("textarea", { id: "chat-input", rows: 2, "aria-label": "Message", placeholder: "Ask about what is indexed", disabled: true }));
  const send = /** @type {HTMLButtonElement} */ (h("button", { class: "primary", disabled: true }, "Send"));
  const stop = h("button", { type: "button", hidden: true, onclick: () => running?.abort() }, "Stop");
  const sources = h("div", { class: "stack sources" });
  const model = h("p", { class: "quiet" });
  const history = h("aside", { class: "chat-history stack", "aria-label": "Earlier conversations" });
  const form = h("form", { class: "chat-form", onsubmit: (/** @type {Event} */ e) => { e.preventDefault(); ask(); } },
    input, h("div", { class: "row between" },
      h("fieldset", { class: "modes" }, h("legend", { class: "visually-hidden" }, "Retrieval"), MODES.map(([name, word, hint]) =>
        h("label", { title: hint }, h("input", { type: "radio", name: "mode", value: name, checked: name === mode,
          onchange: () => { mode = name; sessionStorage.setItem(MODE, name); } }), word))),
      h("div", { class: "row" }, stop, send)));
  root.append(h("div", { class: "page chat" }, history,
    h("section", { class: "chat-main", "aria-label": "Chat" }, h("div", { class: "row between" }, h("h1", {}, "Chat"), model,
      h("button", { type: "button", class: "small", onclick: () => open({ id: Date.now(), turns: [] }) }, "New")), log, form),
    h("aside", { class: "chat-side", "aria-label": "Sources" }, sources)));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      ask();
    }
  });

  app.status().then((status) => {
    if (status.chat) begin(status.chat);
    else setUp();
  }, (error) => fill(log, h("li", {}, failure(error))));

  /** @param {string} name */
  function begin(name) {
    model.textContent = name;
    input.disabled = send.disabled = false;
    draw();
    input.focus({ preventScroll: true });
  }

  /** No model is set: list what runs on this machine. */
  async function setUp() {
    const found = h("div", { class: "servers" }, waiting("Looking for models on this machine"));
    fill(log, h("li", {}, h("div", { class: "notice stack" }, h("strong", {}, "No chat model is set up."),
      h("p", {}, "Search, library and map need none. To chat, pick a model that runs on this machine:"), found,
      h("p", {}, "Or name one of any OpenAI-compatible server and start again:"),
      h("pre", {}, "OUTCROP_CHAT_MODEL=llama3.2 outcrop serve\n# another endpoint: OUTCROP_CHAT_URL=http://127.0.0.1:8080/v1\n# its key, if it needs one: OUTCROP_CHAT_KEY=…"))));
    try {
      const { servers } = await get("/api/chat/servers");
      const before = kept(MODEL, null);
      const same = servers.find((/** @type {any} */ one) => one.name === before?.server && one.models.includes(before?.model));
      if (same) {
        choose(before.server, before.model);
        return;
      }
      fill(found, servers.length ? servers.map((/** @type {any} */ server) => h("p", { class: "row" }, h("span", {}, server.title),
        server.models.slice(0, 12).map((/** @type {string} */ name) => h("button", { type: "button", class: "small", onclick: () => choose(server.name, name) }, name))))
        : h("p", { class: "quiet" }, "None answers here. Start Ollama (11434), llama.cpp (8080) or LM Studio (1234), then ",
          h("button", { type: "button", class: "small", onclick: setUp }, icon("retry"), "look again")));
    } catch (error) {
      fill(found, failure(error));
    }
  }

  /** @param {string} server @param {string} name */
  function choose(server, name) {
    chosen = { server, model: name };
    keep(MODEL, chosen);
    begin(name);
  }

  /** A citation as a button that opens the passage. @param {any[]} from */
  const citing = (from) => (/** @type {number} */ number) => {
    const source = from.find((one) => one.number === number);
    return source ? h("button", { type: "button", class: "cite", "aria-label": `Source ${number}: ${source.place}`, onclick: () => openSource(source, from) }, number) : `[${number}]`;
  };

  /** @param {Turn} turn @param {boolean} live @param {boolean} last */
  const drawTurn = (turn, live, last) => h("li", { class: `turn ${turn.role}` },
    h("p", { class: "who" }, turn.role === "user" ? "You" : "Answer"),
    turn.notes?.map((note) => h("p", { class: "quiet" }, note)),
    h("div", { class: "said-text" }, turn.role === "user" ? turn.content : drawProse(turn.content, citing(turn.sources ?? []))),
    turn.remarks?.map((remark) => h("p", { class: "notice warn" }, remark)),
    live && !turn.content && waiting("Thinking"), turn.error && failure(turn.error),
    turn.role === "assistant" && !live && h("div", { class: "turn-tools" },
      turn.content && h("button", { type: "button", class: "ghost small", onclick: () => copy(turn.content, "Answer copied") }, icon("copy"), "Copy"),
      last && h("button", { type: "button", class: "ghost small", onclick: retry }, icon("retry"), "Retry")));

  function draw() {
    fill(log, talk.turns.map((turn, at) => drawTurn(turn, running !== null && at === talk.turns.length - 1, at === talk.turns.length - 1)));
    log.scrollTop = log.scrollHeight;
    const talks = kept(TALKS, []);
    fill(history, talks.length > 0 && [h("h2", { class: "quiet" }, "Earlier"), h("ul", {}, talks.map((/** @type {typeof talk} */ one) => h("li", {},
      h("button", { type: "button", class: "ghost", "aria-pressed": String(one.id === talk.id), onclick: () => open(one) }, one.turns[0].content.slice(0, 80))))),
    h("button", { type: "button", class: "ghost small", onclick: () => { keep(TALKS, []); draw(); } }, "Forget all")]);
  }

  /** @param {typeof talk} other */
  function open(other) {
    running?.abort();
    talk = { id: other.id, turns: [...other.turns] };
    draw();
    showSources(talk.turns.findLast((turn) => turn.sources?.length)?.sources ?? null);
    input.focus({ preventScroll: true });
  }

  /** @param {any[] | null} list */
  function showSources(list) {
    reading.abort();
    if (!list) fill(sources, h("h2", {}, "Sources"), h("p", { class: "quiet" }, "What an answer rests on appears here."));
    else fill(sources, h("h2", {}, plural(list.length, "source")), h("ol", { class: "source-list" }, list.map((source) => h("li", {},
      h("button", { type: "button", class: "ghost source", onclick: () => openSource(source, list) },
        h("span", { class: "badge" }, source.number), h("span", { class: "mono path" }, source.place), h("span", { class: "score", title: "Score" }, source.score.toFixed(2)),
        h("span", { class: "quiet source-text" }, opening(source, OPENING)))))));
  }

  /** @param {any} source @param {any[]} list */
  function openSource(source, list) {
    reading.abort();
    reading = new AbortController();
    const body = h("div", { class: "source-body", tabindex: "0", role: "region", "aria-label": source.place });
    fill(sources, h("div", { class: "row between" }, h("h2", { class: "mono path" }, source.place),
      h("button", { type: "button", class: "small", onclick: () => showSources(list) }, "All sources")), body);
    showDocument(body, { document: { id: source.document_id }, line_start: source.line_start, line_end: source.line_end }, reading.signal);
    if (matchMedia("(max-width: 60rem)").matches) sources.scrollIntoView({ block: "start" }); // it stands below the conversation
  }

  function retry() {
    const at = talk.turns.findLastIndex((turn) => turn.role === "user");
    if (at < 0 || running) return;
    const { content } = talk.turns[at];
    talk.turns = talk.turns.slice(0, at);
    ask(content);
  }

  async function ask(text = input.value.trim()) {
    if (!text || running) return;
    input.value = "";
    const { turns } = talk;
    turns.push({ role: "user", content: text });
    const messages = turns.filter((turn) => turn.content && !turn.error).map(({ role, content }) => ({ role, content }));
    /** @type {Turn} */
    const turn = { role: "assistant", content: "", sources: [], notes: [], remarks: [] };
    turns.push(turn);
    const mine = (running = new AbortController());
    stop.hidden = false;
    send.disabled = true;
    draw();
    try {
      await stream("POST", "/api/chat", { messages, mode, ...chosen }, (name, data) => {
        if (name === "delta") turn.content += data.text;
        else if (name === "sources") {
          turn.sources = data.sources;
          showSources(data.sources);
        } else if (name === "tool") turn.notes?.push(`Searched for “${data.query}”`);
        else if (name === "notice") (turn.content ? turn.remarks : turn.notes)?.push(data.message);
        else if (name === "error") turn.error = data.message;
        draw();
      }, mine.signal);
    } catch (error) {
      if (mine.signal.aborted) turn.notes?.push("Stopped.");
      else turn.error = error instanceof Error ? error.message : String(error);
    }
    running = null;
    stop.hidden = true;
    send.disabled = false;
    if (talk.turns === turns) keepTalk();
    draw();
    input.focus({ preventScroll: true });
  }

  draw();
  showSources(talk.turns.findLast((turn) => turn.sources?.length)?.sources ?? null);
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
