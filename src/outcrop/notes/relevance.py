"""How likely a note is what was asked for, 0 to 1, told from the evidence alone.

The score of a search is calibrated on large collections: BM25 is held against the best score the query allows, and in
a dozen notes no right note comes near that. Here two things count instead that do not depend on how many notes there
are: how much of the question's words the note holds, and how similar it is in meaning. Either is enough.
"""

from __future__ import annotations

import math
from typing import Final

from outcrop.records import Explanation

WORDS_SHARE: Final = 0.9
"""What holding every word of the question is worth: a single word may stand in a note that is about something else."""
UNKNOWN_SIMILARITY: Final = 0.25
"""Taken for a note whose vector is not made yet, or where the model failed: a note just written is found by its words.
It is the similarity from which a search counts a passage as near."""
MIDPOINT: Final = 0.585
STEEPNESS: Final = 10.0
"""Chosen on ten notes, 24 questions and 26 unrelated ones that are not those of the tests. Unrelated questions that
share a word with some note reach an evidence of .43 with the model that ships and .49 with `mini` (but for one, .56 and
.60, with half of its words in a note); right notes begin at .59 and .63 where they share a word with the question. So
evidence of .5 gives 0.3, .6 gives 0.54, .7 gives 0.76 and .8 gives 0.9. On these 22 of the 24 notes come back, 23 with
`mini`, and one of the 26 finds a note."""


def relevance(why: Explanation) -> float:
    """The score of a note, from why a search found it."""
    similarity = UNKNOWN_SIMILARITY if why.similarity is None else max(why.similarity, 0.0)
    evidence = 1 - (1 - WORDS_SHARE * why.coverage) * (1 - similarity)
    return 1 / (1 + math.exp(-STEEPNESS * (evidence - MIDPOINT)))
