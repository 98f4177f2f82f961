"""Mutants that live and may: nobody could tell them from the code, or only by a figure that is judgement."""

from __future__ import annotations

_WEIGHTS = (
    "the weights are a fit from above: a larger one errs on the same side, and how far is measured elsewhere"
)
_FIT = "decided by the 3 800 texts of the fit; the few that are kept with the tests do not tell"
_JUDGEMENT = "how much is judgement and said to be; a test of the figure would only repeat it"
_REMEMBERED = "which words are remembered changes, not what is counted"
_TINY = "differs only for a passage of some five characters, which nobody reads"
_HALF = "a blank in the second half of a part never stands at its beginning"
_SAVES_TIME = "what comes after it would change nothing: it saves time"
_TIE = "differs only where a sum of floats is the bound to the last bit"
_SETTLED = "what it leaves undone `settle` does, with the same room"
_CHOSEN = "chosen on labelled sets (`benchmarks.code`, `benchmarks.quality`): a test of the figure would only repeat it"
_FITTED = "fitted to 10 000 questions (`training.ranking`): a test of the figure would only repeat it"
_NO_CHANCE = "a file without candidates has no share"
_MORE_NEEDED = "where a must did not fit more is needed than the budget, unless a tokenizer counts oddly"

ACCEPTED: dict[str, str] = {
    "outcrop.text.tokens.estimate:_weigh_character:ffe66d1d": _WEIGHTS,
    "outcrop.text.tokens.estimate:_weigh_character:37d99e3e": _WEIGHTS,
    "outcrop.text.tokens.estimate:SafeEstimate.count:34efabef": _REMEMBERED,
    "outcrop.text.tokens.estimate:_weigh_word:b40687f7": _FIT,
    "outcrop.text.tokens.estimate:_weigh_word:60824502": _FIT,
    "outcrop.text.tokens.estimate:_weigh_word:ca7a5d19": _FIT,
    "outcrop.text.tokens.estimate:-:f215c1b7": _REMEMBERED,
    "outcrop.text.tokens.estimate:SafeEstimate.count:854b70aa": _REMEMBERED,
    "outcrop.text.tokens.estimate:SafeEstimate.count:5987e0ba": "such a run has one character, or three and more",
    "outcrop.read.pack:_choose:e3705fe5": "of the number of a source only its digits cost anything",
    "outcrop.code.pack:_Piece.shorten:c4155827": "no content fits into no room: what follows finds that out too",
    "outcrop.code.pack:-:d5ed9360": _JUDGEMENT,
    "outcrop.code.pack:pack_code:e3ab2206": _JUDGEMENT,
    "outcrop.code.pack:_Shelf.settle:b0a690ca": "there is one entry for each piece",
    "outcrop.code.pack:pack_code:d1b329d2": _MORE_NEEDED,
    "outcrop.code.elide:elide:37491a99": "that the whole does not fit was seen before",
    "outcrop.code.pack:_Piece:e92417c6": "it is set before anybody looks",
    "outcrop.code.pack:_Piece:8b26c803": "it is set before anybody looks",
    "outcrop.rank.excerpt:passage:611605e5": _TINY,
    "outcrop.rank.excerpt:_shortened:2afd4869": _TINY,
    "outcrop.rank.excerpt:_cut:83147882": _HALF,
    "outcrop.rank.excerpt:_cut:b63f32a7": _HALF,
    "outcrop.rank.merge:Boilerplate.repeats:e793cda8": "nothing counts as no",
    "outcrop.read.rank:walk:cc4bf8a1": _SAVES_TIME,
    "outcrop.code.map:pagerank:54bd69e7": _SAVES_TIME,
    "outcrop.code.elide:_rank_lines:554b430d": "a text of blank lines has no closing line to show",
    "outcrop.code.elide:_rank_lines:73e5158c": "a line that is not there shows nothing",
    "outcrop.code.elide:_compose:b685efdb": "a slice ends with the list, wherever it was told to",
    "outcrop.code.map:pagerank:95e9dfb5": _SAVES_TIME,
    "outcrop.code.map:pagerank:0589d236": _TIE,
    "outcrop.read.rank:walk:490e0a9f": _TIE,
    "outcrop.rank.merge:join_hits:db8a7eb6": "where one chunk ends as the next begins nothing lies between them",
    "outcrop.rank.signals:-:9a702089": _CHOSEN,
    "outcrop.rank.merge:Boilerplate.repeats:da9021dc": _TINY,
    "outcrop.index.query:-:74d3d701": _JUDGEMENT,
    "outcrop.code.elide:_compose:0b365d86": "what follows leaves out nothing and goes on",
    "outcrop.code.elide:matched_lines:b74b190f": "all weights are twice as large, and only their order counts",
    "outcrop.rank.chance:-:17680c20": _FITTED,
    "outcrop.rank.chance:-:a51e8cab": _FITTED,
    "outcrop.rank.chance:-:ffd140ba": _FITTED,
    "outcrop.rank.chance:-:a4f5d1b7": _FITTED,
    "outcrop.rank.fusion:best_totals:de96d16d": _NO_CHANCE,
    "outcrop.rank.fusion:best_totals:bbca7eb0": _NO_CHANCE,
    "outcrop.rank.chance:_level:5c267687": "the mean of equal scores is each of them",
}
"""Name of a mutant → why no test should tell it from the code."""
