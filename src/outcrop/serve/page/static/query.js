// The query language of the box: words, "phrases", and filters such as `in:docs kind:pdf since:1w path:src/ tag:"to do"`.
// One place reads it, writes it and completes it. Nothing here touches the page.

/** Each filter: its name in the box, the option of a search that it sets, and the facet whose values complete it. */
export const FILTERS = /** @type {const} */ ([
  { key: "in", option: "collections", facet: "collections", hint: "a collection" },
  { key: "kind", option: "kinds", facet: "kinds", hint: "a format: pdf, markdown, code …" },
  { key: "lang", option: "kinds", facet: "languages", hint: "a language of code" },
  { key: "path", option: "paths", facet: "folders", hint: "a folder, or a pattern as src/**/*.py" },
  { key: "tag", option: "tags", facet: "tags", hint: "a tag" },
  { key: "ref", option: "ref", facet: "refs", hint: "a branch or tag" },
  { key: "worktree", option: "worktree", facet: "worktrees", hint: "the folder of a checkout" },
  { key: "since", option: "since", facet: "dates", hint: "3d, 1w, 1y, yesterday, 2026-01-31" },
  { key: "until", option: "until", facet: null, hint: "1w, 2026-01-31" },
]);
const TOKEN = /(?<![^\s])(in|kind|lang|path|tag|ref|worktree|since|until):("[^"]*"?|[^\s"]*)/g;
const DATE = /^(\d{1,4}[hdwy]|today|yesterday|\d{4}-\d{2}-\d{2})$/; // the server reads it, as it does for the command line

/** Filters that a value of this one takes the place of: of a repository one tree is searched. The others add up. */
const INSTEAD = /** @type {Record<string, string[]>} */ ({ since: ["since"], ref: ["ref", "worktree"], worktree: ["ref", "worktree"] });

/** @param {string} value */
const quote = (value) => (/\s/.test(value) ? `"${value}"` : value);
/** @param {string} value */
const bare = (value) => value.replaceAll('"', "").trim();

/**
 * @param {string} text as it stands in the box
 * @param {Record<string, readonly string[]>} [known] values by facet; one that may still become one of these is not asked for yet
 * @returns {{words: string, body: Record<string, any>, chosen: {key: string, value: string}[], problems: string[]}}
 */
export function parseQuery(text, known = {}) {
  /** @type {Record<string, any>} */
  const body = {};
  const chosen = [];
  const problems = [];
  for (const [, key, raw] of text.matchAll(TOKEN)) {
    const value = bare(raw);
    const filter = /** @type {typeof FILTERS[number]} */ (FILTERS.find((one) => one.key === key));
    if (!value) continue;
    const names = (filter.facet && known[filter.facet]) || [];
    if (!names.includes(value) && names.some((name) => name.startsWith(value))) continue;
    chosen.push({ key, value });
    if (key === "since" || key === "until") {
      if (DATE.test(value)) body[filter.option] = value;
      else problems.push(`“${key}:${value}” is not a date; write 3d, 1w, yesterday or 2026-01-31.`);
    } else if (INSTEAD[key]) body[filter.option] = value;
    else (body[filter.option] ??= []).push(key === "path" && value.endsWith("/") ? `${value}**` : value);
  }
  return { words: text.replace(TOKEN, " ").replace(/\s+/g, " ").trim(), body, chosen, problems };
}

/**
 * The text with a filter added, or taken away if it is there. Dates and trees are one at a time, the others add up.
 * @param {string} text @param {string} key @param {string} value
 */
export function toggleFilter(text, key, value) {
  const has = parseQuery(text).chosen.some((one) => one.key === key && one.value === value);
  const rest = text.replace(TOKEN, (token, name, raw) =>
    ((name === key && bare(raw) === value) || (!has && INSTEAD[key]?.includes(name)) ? "" : token)).replace(/\s+/g, " ").trim();
  return has ? rest : `${rest} ${key}:${quote(value)}`.trim();
}

/** A query from its words and filters. @param {string} words @param {Record<string, string>} filters */
export const writeQuery = (words, filters) =>
  [words, ...Object.entries(filters).filter(([, value]) => value).map(([key, value]) => `${key}:${quote(value)}`)].join(" ").trim();

/**
 * What the token at the cursor could become.
 * @param {string} text @param {number} cursor
 * @param {Record<string, {value: string, count: number}[]>} facets
 * @returns {{start: number, end: number, choices: {text: string, note: string}[]}}
 */
export function complete(text, cursor, facets) {
  const nothing = { start: cursor, end: cursor, choices: [] };
  const before = /(?:^|\s)((\w+):("[^"]*|[^\s"]*))$/.exec(text.slice(0, cursor));
  const filter = before && FILTERS.find((one) => one.key === before[2]);
  if (!before || !filter) return nothing;
  const typed = bare(before[3]).toLowerCase();
  const values = (filter.facet && facets[filter.facet]) || [];
  const choices = values.filter(({ value }) => value.toLowerCase().includes(typed))
    .sort((a, b) => Number(b.value.toLowerCase().startsWith(typed)) - Number(a.value.toLowerCase().startsWith(typed)))
    .slice(0, 8).map(({ value, count }) => ({ text: `${filter.key}:${quote(value)}`, note: count.toLocaleString("en") }));
  if (choices.length === 1 && bare(choices[0].text) === bare(before[1])) return nothing;
  return { start: cursor - before[1].length, end: cursor, choices: choices.length || typed ? choices : [{ text: `${filter.key}:`, note: filter.hint }] };
}
