"""The table of languages with a grammar. To add one: a line here and a query file of its name.

Grammars come in wheels, one per language, and are loaded with the first file that needs them. Large ones for less
common languages come with the extra `languages`; a file without an installed grammar is read by lines. `extract` says
what a query may capture.
"""

from __future__ import annotations

import importlib
import re
import threading
from functools import cache
from importlib.resources import files
from importlib.util import find_spec

import tree_sitter

from outcrop.errors import ParseError
from outcrop.parse.code.guard import QueryMatches, limit_time, match_within
from outcrop.parse.title import file_name
from outcrop.system.dataclass import dataclass
from outcrop.system.machine import install_command


@dataclass(frozen=True, slots=True)
class Language:
    """A language and how its files are recognised. `grammar` is `module` or `module:function`. `attached` are kinds of
    node that belong to the declaration after them (attributes, annotations); comments always do. `wrappers` are kinds
    of node around a declaration that belong to it (decorators, export, template). `queries` are its query files, by
    default the one of its name. `embeds`: other languages are embedded in script and style elements. `clauses` are
    kinds of declaration that may come in several consecutive pieces (the equations of a function); `sections` are kinds
    that extend to the next of their kind. `noise` is what its grammar cannot read, blanked before parsing (C's macros);
    `branches` what is blanked too when that leaves errors; with `has_conditionals` single
    branches are (see `conditionals.py`). `loose` finds declarations that its grammar does not know at all, with the
    groups `doc`, `kind`, `name` and `body`.
    """

    name: str
    grammar: str
    extensions: tuple[str, ...]
    names: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    attached: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    queries: tuple[str, ...] = ()
    embeds: bool = False
    noise: tuple[re.Pattern[bytes], ...] = ()
    branches: re.Pattern[bytes] | None = None
    has_conditionals: bool = False
    clauses: frozenset[str] = frozenset()
    sections: frozenset[str] = frozenset()
    loose: re.Pattern[str] | None = None


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MACROS = (
    re.compile(rb"()^[A-Z][A-Z0-9_]{3,60}(?:\([^()\n]{0,80}\))?[ \t]*$", re.MULTILINE),  # BEGIN_NAMESPACE
    re.compile(  # class API Name {
        rb"\b(class|struct)[ \t]+[A-Z][A-Z0-9_]+(?:\([^()\n]{0,80}\))?"
        rb"(?=\s{1,20}\w[\w<>, ]{0,80}?\s{0,20}(?:final\s{0,20})?[:{])"
    ),
    re.compile(  # API int read(int);
        rb"(^|>)[ \t]*(?:[A-Z][A-Z0-9_]{2,60}(?:\([^()\n]{0,80}\))?[ \t]+){1,4}(?=(?:static|inline|constexpr|extern"
        rb"|explicit|virtual|friend|template|typename|auto|void|const|unsigned|signed|struct|enum|class|bool|char|short"
        rb"|int|long|float|double|size_t)\b|[a-z_]\w*(?:::\w+|<[^;\n]{0,80}>)?[ \t*&]+\w+[ \t]*\()",
        re.MULTILINE,
    ),
    re.compile(  # INLINE Name(int) : …
        rb"(^|>)[ \t]*[A-Z][A-Z0-9_]*(?:CONSTEXPR|CONSTEVAL|INLINE|API|EXPORT|NODISCARD|EXPLICIT|DEPRECATED)\d*"
        rb"(?=[ \t]+~?\w+[ \t]*\()",
        re.MULTILINE,
    ),
)
"""Macros where the grammar of C or C++ expects no name: before a declaration, on a line of their own, after `class`. A
pattern's group is kept; repeats are bounded so that no text takes long."""

_BRANCHES = re.compile(
    rb"()^[ \t]*#[ \t]*(?:el(?:se|if)\b.{0,1000}?(?=^[ \t]*#[ \t]*endif\b)"
    rb"|(?:if|ifdef|ifndef|endif|region|endregion|pragma|nullable)\b[^\n]*)",
    re.MULTILINE | re.DOTALL,
)
"""What the preprocessor may leave out: a declaration split over two branches parses as neither."""

_KOTLIN_NOISE = (
    re.compile(
        rb"(\bis[ \t]+[\w.<>*?, ]{1,80}?)[ \t]+if[ \t]+[^\n]{1,200}?(?=[ \t]*->)"
    ),  # is A if it.isB() ->
    re.compile(rb"()^[ \t]*annotation(?=[ \t]+class\b)", re.MULTILINE),
    re.compile(rb"()^[ \t]*(?:(?:public|internal|private)[ \t]+)?fun(?=[ \t]+interface\b)", re.MULTILINE),
)

_SQL_PROCEDURE = re.compile(
    r"(?P<doc>(?:^[ \t]*--[^\n]*\n)*)^[ \t]*CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?(?P<kind>PROCEDURE)\s+"
    r"(?P<name>[\w.]+)"
    r"[^;$]*?(?P<body>\bAS\s+\$(?P<tag>\w*)\$[\s\S]*?\$(?P=tag)\$[^;]*;|\bBEGIN\b[\s\S]*?^END\b[^\n]*|;)",
    re.IGNORECASE | re.MULTILINE,
)

LANGUAGES: tuple[Language, ...] = (
    Language(
        "python", "tree_sitter_python", (".py", ".pyi", ".pyw"), interpreters=("python", "python3"),
        wrappers=_set("decorated_definition"),
    ),
    Language(
        "javascript", "tree_sitter_javascript", (".js", ".mjs", ".cjs", ".jsx"), interpreters=("node", "deno", "bun"),
        attached=_set("decorator"), wrappers=_set("export_statement"),
        queries=("ecmascript", "javascript", "jsx"),
    ),
    Language(
        "typescript", "tree_sitter_typescript:language_typescript", (".ts", ".mts", ".cts"),
        interpreters=("ts-node", "tsx"), attached=_set("decorator"),
        wrappers=_set("export_statement ambient_declaration"),
        queries=("ecmascript", "typescript"),
    ),
    Language(
        "tsx", "tree_sitter_typescript:language_tsx", (".tsx",), attached=_set("decorator"),
        wrappers=_set("export_statement ambient_declaration"), queries=("ecmascript", "typescript", "jsx"),
    ),
    Language("vue", "tree_sitter_html", (".vue",), queries=("component",), embeds=True),
    Language("svelte", "tree_sitter_html", (".svelte",), queries=("component",), embeds=True),
    Language("go", "tree_sitter_go", (".go",)),
    Language("rust", "tree_sitter_rust", (".rs",), attached=_set("attribute_item inner_attribute_item")),
    Language("java", "tree_sitter_java", (".java",), attached=_set("annotation marker_annotation")),
    Language(
        "c", "tree_sitter_c", (".c", ".h"), attached=_set("attribute_declaration"),
        wrappers=_set("linkage_specification"), noise=_MACROS, has_conditionals=True,
    ),
    Language(
        "cpp", "tree_sitter_cpp", (".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++", ".ipp", ".inl", ".tcc",
        ".cu", ".cuh", ".ino"), attached=_set("attribute_declaration"),
        wrappers=_set("template_declaration"), queries=("cpp", "c"), noise=_MACROS, has_conditionals=True,
    ),
    Language(
        "c_sharp", "tree_sitter_c_sharp", (".cs", ".csx"), attached=_set("attribute_list"),
        noise=(re.compile(rb"()\bref[ \t]+(?=partial[ \t]+struct\b)"),), branches=_BRANCHES,
    ),
    Language(
        "kotlin", "tree_sitter_kotlin", (".kt", ".kts"), attached=_set("annotation"), noise=_KOTLIN_NOISE,
    ),
    Language("scala", "tree_sitter_scala", (".scala", ".sc", ".sbt"), attached=_set("annotation")),
    Language(
        "ruby", "tree_sitter_ruby", (".rb", ".rake", ".gemspec", ".ru", ".podspec"),
        ("Rakefile", "Gemfile", "Podfile", "Vagrantfile", "Guardfile", "Brewfile"), interpreters=("ruby", "rake"),
    ),
    Language(
        "php", "tree_sitter_php:language_php", (".php", ".phtml", ".php5", ".inc"), interpreters=("php",),
        attached=_set("attribute_list"),
    ),
    Language("swift", "tree_sitter_swift", (".swift",), attached=_set("attribute"), interpreters=("swift",)),
    Language("lua", "tree_sitter_lua", (".lua", ".rockspec"), interpreters=("lua", "luajit")),
    Language(
        "elixir", "tree_sitter_elixir", (".ex", ".exs"), interpreters=("elixir",), clauses=_set("function macro"),
    ),
    Language(
        "haskell", "tree_sitter_haskell", (".hs",), interpreters=("runghc", "runhaskell"), clauses=_set("function"),
    ),
    Language("zig", "tree_sitter_zig", (".zig", ".zon")),
    Language(
        "bash", "tree_sitter_bash", (".sh", ".bash", ".zsh", ".ksh", ".bats"),
        (".bashrc", ".bash_profile", ".profile", ".zshrc", "PKGBUILD"),
        interpreters=("bash", "sh", "zsh", "dash", "ksh"),
    ),
    Language("sql", "tree_sitter_sql", (".sql", ".ddl", ".psql"), wrappers=_set("statement"), loose=_SQL_PROCEDURE),
    Language("css", "tree_sitter_css", (".css",)),
    Language(
        "dockerfile", "tree_sitter_containerfile", (".dockerfile", ".containerfile"), ("Dockerfile", "Containerfile"),
        sections=_set("stage"),
    ),
    Language(
        "make", "tree_sitter_make", (".mk", ".mak"), ("Makefile", "GNUmakefile", "makefile"), interpreters=("make",),
        wrappers=_set("export_directive override_directive"),
    ),
    Language("hcl", "tree_sitter_hcl", (".tf", ".hcl", ".tfvars", ".tofu")),
)  # fmt: skip

_BY_EXTENSION = {extension: language for language in LANGUAGES for extension in language.extensions}
_BY_NAME = {name.lower(): language for language in LANGUAGES for name in language.names}
_BY_INTERPRETER = {name: language for language in LANGUAGES for name in language.interpreters}
_CPP_MARKS = re.compile(
    r"^[ \t]*(?:class[ \t]+\w|namespace\b[^;=\n]*\{|(?:inline[ \t]+)?namespace[ \t]+\w+[ \t]*$"
    r"|template[ \t]*<|using[ \t]+\w|(?:public|private|protected)[ \t]*:)", re.MULTILINE,
)  # fmt: skip
"""A header with one of these at the start of a line is C++."""
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?([\w.+-]+)(?:[ \t]+(?:-\S+[ \t]+)*([\w.+-]+))?")

_VARIANT_NAMES = ("dockerfile.", "containerfile.", "makefile.")
"""`Dockerfile.dev` is a Dockerfile; `Gemfile.lock` is not a Gemfile."""


def find_language(path: str, text: str = "") -> Language | None:
    """The language of a file by its name, else by the interpreter in its first line."""
    name = file_name(path).lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    dot = name.rfind(".")
    if dot > 0 and name[dot:] == ".h" and _CPP_MARKS.search(text):
        return _BY_EXTENSION[".hpp"]
    if dot > 0 and name[dot:] in _BY_EXTENSION:
        return _BY_EXTENSION[name[dot:]]
    shebang = _SHEBANG.match(text[:200])
    if shebang is None:
        is_variant = name.startswith(_VARIANT_NAMES) and not name.endswith("ignore")
        return _BY_NAME.get(name[: name.find(".")]) if is_variant else None
    program = shebang[2] if shebang[1] == "env" and shebang[2] else shebang[1]
    return _BY_INTERPRETER.get(program) or _BY_INTERPRETER.get(re.sub(r"[\d.]+$", "", program))


class NoGrammar(ParseError):
    """The grammar of a language is not installed."""


class Grammar:
    """A loaded grammar, its compiled query, and what some patterns set, by their number. Parsers and cursors are per
    thread."""

    def __init__(self, language: Language) -> None:
        module, _, function = language.grammar.partition(":")
        self.language = language
        try:
            grammar = importlib.import_module(module)
        except ImportError as error:
            raise NoGrammar(
                f"there is no grammar of {language.name} here: {install_command('languages')}"
            ) from error
        self._grammar = tree_sitter.Language(getattr(grammar, function or "language")())
        folder = files("outcrop.parse.code").joinpath("queries")
        names = language.queries or (language.name,)
        source = "\n".join(folder.joinpath(f"{name}.scm").read_text("utf-8") for name in names)
        self.query = tree_sitter.Query(self._grammar, source)
        count: int = self.query.pattern_count  # type: ignore[assignment]  # the stubs take it for a method
        found = ((number, self.query.pattern_settings(number)) for number in range(count))
        self.settings = {
            number: {key: frozenset((said or "").split()) for key, said in told.items()}
            for number, told in found
            if told
        }
        self._local = threading.local()

    def parser(self) -> tree_sitter.Parser:
        """This thread's parser."""
        if not hasattr(self._local, "parser"):
            self._local.parser = tree_sitter.Parser(self._grammar)
            limit_time(self._local.parser)
        parser: tree_sitter.Parser = self._local.parser
        return parser

    def matches(self, root: tree_sitter.Node) -> QueryMatches:
        """What the query finds in a tree, within the time a file may take."""
        if not hasattr(self._local, "cursor"):
            self._local.cursor = tree_sitter.QueryCursor(self.query)
            limit_time(self._local.cursor)
        return match_within(self._local.cursor, root)


@cache
def grammar_of(language: Language) -> Grammar:
    """The grammar of a language, loaded once; most of the time goes to compiling the query (6 ms for Go, 120 for C++).
    Raises NoGrammar where it is not installed."""
    return Grammar(language)


def missing_grammars() -> list[str]:
    """Names of the languages whose grammars are not installed."""
    return [each.name for each in LANGUAGES if find_spec(each.grammar.partition(":")[0]) is None]
