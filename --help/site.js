// The search box. Everything it knows is in sections.js, which is loaded when somebody is about to search.
const root = document.currentScript.dataset.root;
const query = document.getElementById("query");
const found = document.getElementById("found");
const MOST = 12;
let loading = null;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}/sections.js`;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
  return loading;
}

// A word counts where a word of the text begins with it: most in a title, less in a heading, least in the text.
function score(section, words) {
  const [, title, heading, text] = section;
  let total = 0;
  for (const word of words) {
    const weights = [[title, heading ? 4 : 12], [heading, 8], [text, 1]];
    const points = weights.map(([where, weight]) => weight * Math.min(3, where.split(word).length - 1));
    const sum = points.reduce((a, b) => a + b, 0);
    if (!sum) return 0;
    total += sum;
  }
  return total / (1 + Math.log2(2 + text.length / 400));
}

function search(asked) {
  const words = (asked.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) ?? []).map(
    (word) => new RegExp(`(?<![\\p{L}\\p{N}])${word.replace(/[-]/g, "\\-")}`, "iu"),
  );
  if (!words.length) return [];
  const scored = SECTIONS.map((section) => [score(section, words), section]).filter(([points]) => points > 0);
  scored.sort((a, b) => b[0] - a[0]);
  return scored.slice(0, MOST).map(([, section]) => [section, words]);
}

function excerpt(text, words) {
  const at = Math.max(0, text.search(words[0]) - 40);
  return (at ? "… " : "") + text.slice(at, at + 140) + (text.length > at + 140 ? " …" : "");
}

function show(hits) {
  found.replaceChildren(
    ...hits.map(([[address, title, heading, text], words]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = `${root}/${address}`;
      const name = document.createElement("b");
      name.textContent = heading ? `${title} › ${heading}` : title;
      const words_ = document.createElement("span");
      words_.textContent = excerpt(text, words);
      link.append(name, words_);
      item.append(link);
      return item;
    }),
  );
  if (!hits.length && query.value.trim()) {
    const item = document.createElement("li");
    item.textContent = "Nothing found.";
    found.append(item);
  }
  found.hidden = !query.value.trim();
}

query.addEventListener("focus", load);
query.addEventListener("input", async () => {
  await load();
  show(search(query.value));
});
document.addEventListener("keydown", (event) => {
  const links = [...found.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "/" && document.activeElement !== query) {
    event.preventDefault();
    query.focus();
  } else if (event.key === "Escape") {
    query.value = "";
    show([]);
  } else if (event.key === "Enter" && document.activeElement === query && links.length) {
    links[0].click();
  } else if (event.key === "ArrowDown" && links.length && (at >= 0 || document.activeElement === query)) {
    event.preventDefault();
    links[Math.min(at + 1, links.length - 1)].focus();
  } else if (event.key === "ArrowUp" && at >= 0) {
    event.preventDefault();
    (at ? links[at - 1] : query).focus();
  }
});
document.addEventListener("click", (event) => {
  if (!found.contains(event.target) && event.target !== query) found.hidden = true;
});
