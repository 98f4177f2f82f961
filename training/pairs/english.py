"""The little English the rules need: which words are verbs, their forms, which words say nothing."""

from __future__ import annotations

from functools import cache
from typing import Final

VERBS: Final = frozenset(
    """
    abort accept access accumulate acquire activate adapt add adjust advance aggregate align allocate allow alter
    analyse analyze animate annotate append apply approximate archive arrange ask assemble assert assign associate
    attach attempt authenticate authorize average await backup balance batch begin bind blend block blur bootstrap
    branch break broadcast browse buffer build bump bundle bypass cache calculate call cancel capitalize capture cast
    catch center centre change chain check choose chunk clamp classify clean clear click clip clone close cluster
    coerce collapse collect color combine commit compact compare compile complete compose compress compute
    concatenate concat configure confirm connect construct consume contain continue contract control convert convolve
    coordinate copy correct count crawl create crop cut cycle debug decide declare decode decompose decompress decorate
    decrease decrement decrypt deduce deduplicate define deflate delay delegate delete deliver demonstrate deploy
    derive describe deserialize destroy detach detect determine diff differentiate digest disable discard disconnect
    discover dismiss dispatch display dispose distribute divide do dock download drag draw drop dump duplicate edit
    eject elect eliminate embed emit emulate enable encapsulate encode encrypt end enforce ensure enter enumerate
    erase escape establish estimate evaluate examine exchange exclude execute exit expand expect explain explore
    export expose express extend extract factor fail fetch fill filter finalize find finish fire fit fix flag flatten
    flip flush focus fold follow force fork format forward free freeze fuse gather generate get give go grab grant
    group grow guess guarantee handle hash help hide highlight hold hook identify ignore implement import improve
    include increase increment indent index indicate infer inflate inherit init initialise initialize inject inline
    insert inspect install instantiate instruct integrate intercept interleave interpolate interpret intersect
    introduce invalidate invert invoke isolate issue iterate join jump keep kill label launch lay lazy lead leave let
    limit link list listen load localize locate lock log look lookup loop lower make manage manipulate map mark mask
    match materialize maximize mean measure merge migrate minimize mirror mix mock modify monitor mount move
    multiply mutate name navigate negate nest normalise normalize notify obtain offset omit open optimise optimize
    order orient output override overwrite own pack pad paginate paint parse partition pass paste patch pause peek
    perform permute persist pick pin ping pipe place play plot point poll pool pop populate position post prefix
    prepare prepend preprocess present preserve press pretty prevent print prioritize probe process produce profile
    project promote prompt propagate protect provide prune publish pull purge push put quantize query queue quit
    quote raise randomize rank rate reach react read rearrange rebuild recalculate receive recognize recompute
    reconnect record recover recreate recurse redirect redraw reduce refactor reference refine refresh regenerate
    register reject release reload remap remember remove rename render reorder repair repeat replace replay report
    represent request require rerun rescale reserve reset reshape resize resolve respond restart restore restrict
    resume retain retrieve retry return reuse reveal reverse revert revoke rewind rewrite roll rotate round route
    run sample sanitise sanitize save say scale scan schedule score scrape scroll seal search seek segment select
    send separate sequence serialise serialize serve set setup shallow share shift show shrink shuffle shut sign
    signal simplify simulate skip sleep slice slide smooth snap snapshot solve sort spawn specify split squash stack
    standardize start stat stop store stream strip submit subscribe subtract suggest sum summarise summarize supply
    support suppress suspend swap switch synchronise synchronize sync synthesize tag take tell terminate test throttle
    throw tile time toggle tokenize touch trace track train transcode transfer transform transition translate
    transmit transpose traverse treat trigger trim truncate try tune turn unescape uninstall unite unload unlock
    unmount unpack unregister unset unsubscribe unwrap unzip update upgrade upload upsert use validate vary verify
    view visit visualize wait wake walk warn warp watch weight wipe wrap write yield zip zoom
    """.split()
)
"""What documentation of functions starts with; a first word that is none of these starts no instruction."""

_NO_VERB_FIRST: Final = frozenset(
    "access block branch buffer cache chain color contract control cut cycle display end factor flag focus format "
    "forward free group hash help index issue label lead limit link list log look map mark mask mean name offset order "
    "output own pass patch place plot point pool position post prefix present process profile project query queue "
    "quote rank rate record reference release report request return sample scale scope score sequence share shift "
    "signal sign snapshot stack stat state stream sum switch tag test tile time touch trace track train "
    "transition view "
    "weight lazy pretty shallow setup lookup chunk cluster cast batch bundle average".split()
)
"""Verbs that are as often nouns: `List of names` is no instruction, `List the names` is."""

_AFTER_NOUN: Final = frozenset(
    "of for to that which is are with in used from by on where at between when whose as containing representing".split()
) | {""}

_IRREGULAR: Final = {
    "get": "got", "set": "set", "put": "put", "cut": "cut", "read": "read", "write": "written", "find": "found",
    "build": "built", "send": "sent", "make": "made", "take": "taken", "give": "given", "run": "run", "begin": "begun",
    "bind": "bound", "break": "broken", "catch": "caught", "choose": "chosen", "draw": "drawn", "freeze": "frozen",
    "hide": "hidden", "hold": "held", "keep": "kept", "lay": "laid", "leave": "left", "let": "let",
    "rebuild": "rebuilt", "reset": "reset", "rewrite": "rewritten", "say": "said", "seek": "sought", "show": "shown",
    "shut": "shut", "sleep": "slept", "split": "split", "tell": "told", "throw": "thrown", "unset": "unset",
    "override": "overridden", "do": "done", "go": "gone", "wake": "woken", "swap": "swapped",
    "rewind": "rewound", "overwrite": "overwritten", "win": "won", "spend": "spent", "quit": "quit", "shrink": "shrunk",
    "fit": "fitted", "redraw": "redrawn", "init": "initialized", "sync": "synced", "diff": "diffed",
}  # fmt: skip

_VOWELS: Final = "aeiou"
_DOUBLING: Final = frozenset(
    "stop drop map plot pop zip strip trim skip snap swap clip crop drag flip grab log plan plug ship step tag wrap "
    "unwrap get set put cut run begin shut split sum scan pin spin commit submit emit permit refer "
    "prefer transfer control unzip fit hit jot pad reset unset quit chop clap map remap unpin "
    "debug flag hug let dim skim kid rebin bin".split()
)

STOP_WORDS: Final = frozenset(
    "a an the this that these those of for from to in on at by with without as is are was were be been being it its "
    "and or but if then else so such into onto out up over under about can could may might must shall should "
    "will would "
    "do does did has have had not no any all some each every given which who whom whose what when where why how we you "
    "i me my our your their his her them they us there here also only just very than too own same other using used use "
    "via per etc".split()
)
"""Words that keywords leave out."""

_FOREIGN: Final = frozenset(
    "el los las una del para que con por como der die das und ein eine nicht wird oder mit für les des une "
    "pour est dans "
    "avec sur qui della delle che per non sono een het van voor niet com uma não são os da do ao på och att "
    "för jest nie "
    "się oraz".split()
)
_FOREIGN_AT_LEAST: Final = 2
_ENGLISH: Final = STOP_WORDS - {"i", "me", "per", "do", "us", "on", "at", "in", "an", "a", "no", "as", "so"}


def third_person(verb: str) -> str:
    """`pass` is `passes`, `copy` is `copies`."""
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ies"
    return verb + "s"


def gerund(verb: str) -> str:
    """`write` is `writing`, `map` is `mapping`."""
    if verb in _DOUBLING:
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    return verb + "ing"


def participle(verb: str) -> str:
    """`parse` is `parsed`, `send` is `sent`."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _DOUBLING:
        return f"{verb}{verb[-1]}ed"
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return verb[:-1] + "ied"
    return verb + "ed"


@cache
def _inflected() -> dict[str, str]:
    forms = {third_person(verb): verb for verb in VERBS}
    forms.update({gerund(verb): verb for verb in VERBS})
    return forms


def bare_verb(word: str, after: str) -> str:
    """The infinitive of a sentence's first word, or nothing where it is no verb; `after` is the word behind it."""
    lower = word.lower()
    if lower in VERBS:
        return "" if lower in _NO_VERB_FIRST and _makes_noun(after) else lower
    verb = _inflected().get(lower, "")
    if verb and lower.endswith("s") and verb in _NO_VERB_FIRST and _makes_noun(after):
        return ""
    return verb


def _makes_noun(after: str) -> bool:
    return after.lower() in _AFTER_NOUN


def is_english(text: str) -> bool:
    """Whether a text may pass for English: mostly Latin letters, and no more words of its neighbours than its own."""
    if not text.isascii() and not _mostly_latin(text):
        return False
    words = [word.strip(".,;:()'\"") for word in text.lower().split()]
    foreign = sum(word in _FOREIGN for word in words)
    return foreign < _FOREIGN_AT_LEAST or foreign < sum(word in _ENGLISH for word in words)


def _mostly_latin(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    if not letters or sum(character > "\u024f" for character in letters) > len(letters) // 20:
        return False
    return sum(not character.isascii() for character in letters) <= len(letters) // 10
