// Colours of code in an excerpt: comments, strings, numbers, keywords, names that are called or declared. Quick and
// rough, at every letter that is typed; an opened document has the colours of its grammar, from the server.

const HASH = "python ruby bash yaml toml r perl elixir make dockerfile hcl julia nix cmake powershell";
const DASH = "sql lua haskell ada elm vhdl";
const KEYWORDS = new Set(("abstract and as assert async await begin bool break byte case catch char class const continue def default defer delete del do "
  + "double elif else elsif end enum except export extends extern false final finally float fn for from func function global go goto if impl implements "
  + "import in include instanceof int interface is lambda let local long loop match mod module mut namespace new nil None nonlocal not null object of "
  + "operator or override package pass private protected pub public raise readonly ref return self short signed sizeof static string struct super "
  + "switch template then this throw throws trait True true try type typedef typeof undefined union unsafe unsigned until use using val var virtual "
  + "void volatile when where while with yield False require select insert update create table").split(" "));

/** @param {string} language */
function commentOf(language) {
  if (HASH.split(" ").includes(language)) return "#.*";
  if (DASH.split(" ").includes(language)) return "--.*";
  return "\\/\\/.*|\\/\\*[\\s\\S]*?(?:\\*\\/|$)";
}

/** Where a doc comment ends that began before the text: an odd number of marks, the first alone on its line. @param {string} text */
function endOfComment(text) {
  const first = text.indexOf('"""');
  if (first < 0 || text.split('"""').length % 2) return 0;
  const before = text.slice(0, first);
  const opens = !/^[^\S\n]*(\n|$)/.test(text.slice(first + 3)) || /(^|[:({=])\s*$/.test(before);
  return opens ? 0 : first + 3;
}

/**
 * Where each colour stands in a text: [start, end, class], in order.
 * @param {string} text @param {string} language
 * @returns {[number, number, string][]}
 */
export function colourSpans(text, language) {
  const pattern = new RegExp(`(${commentOf(language)})|("""[\\s\\S]*?(?:"""|$)|'''[\\s\\S]*?(?:'''|$)|"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\`?)`
    + "|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)", "g");
  /** @type {[number, number, string][]} */
  const spans = [];
  let declares = false;
  const ending = endOfComment(text);
  if (ending) spans.push([0, ending, "sd"]);
  pattern.lastIndex = ending;
  for (const match of text.matchAll(pattern)) {
    const [whole, comment, string, digits, word] = match;
    const end = match.index + whole.length;
    let style = comment ? "c" : string ? (/^("""|''')/.test(string) ? "sd" : "s") : digits ? "m" : "";
    if (word) {
      if (KEYWORDS.has(word)) style = "k";
      else if (declares && /^[A-Z]/.test(word)) style = "nc";
      else if (text[end] === "(") style = "nf";
      declares = /^(class|struct|interface|trait|enum|type|impl|new)$/.test(word);
    }
    if (style) spans.push([match.index, end, style]);
  }
  return spans;
}
