"""Is this a secret, or does it only stand where one could? What chance made does not look like what people write."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "*"

MIN_RANDOM: Final = 16
"""Characters of a token that is told by its looks alone: shorter ones cannot be told from names with a number."""
MIN_SOLID: Final = 24
"""Characters without a `-`, `_` or the like between them that are no name any more."""
MIN_PASSWORD: Final = 8
"""Characters of a password that is told so, where the name says that it is one."""
CHANGES: Final = 0.22
"""Share of neighbours between which the kind of character changes (`a1`, `1a`, `aB`). Chance gives 0.30 for upper-case
letters with the digits of base32, 0.40 for lower-case ones with digits, 0.47 for hexadecimal and more for the rest; a
name like `AES256GCMSha384` has 0.2, most have a tenth."""
CHANGES_SOLID: Final = 0.15
"""The same for MIN_SOLID characters without a break, in one case: `V1ServiceAccountTokenProjection` has 0.16."""
CHANGES_PASSWORD: Final = 0.3
"""The same for a password of less than MIN_RANDOM characters. All of these are judgement. Measured: of random
tokens (hexadecimal, base32 to base64, 16 to 64 characters) 90 to 100 % are masked where a name tells of them, of random
passwords of 12 and 16 characters 80 to 97 %; in 2 GB of other people's packages one value a megabyte is, and of these
about one in fifty is no secret, nor written to look like one."""
MIN_GENERATED: Final = 32
"""Characters of a key that is drawn from letters, digits and signs; Django's have 50."""
TURNS: Final = 0.4
"""Share of its characters after which another kind follows: letter, digit, sign. Chance gives 0.6 for Django's signs.
Both judgement."""
MIN_DISTINCT: Final = 6
"""Different characters in a key: sixteen hexadecimal digits by chance have ten. Judgement."""

_FILLER = re.compile(
    r"example|sample|placeholder|changeme|change[_-]me|redacted|dummy|fake|x{4}|your|\Amy[_-]|insert|replace"
    r"|[_-]here|todo|\.\.\.|\*{4}|deadbeef|foobar|lorem",
    re.IGNORECASE,
)
# All of what a value says, where it says nothing. Longest first: the loop takes what it has and never reconsiders.
_EMPTY_WORDS = re.compile(
    r"(?>[\W\d_]|password|passphrase|passwort|database|security|postgres|required|username|supersecret|secret"
    r"|default|example|testing|encrypt|private|strings?|passwd|random|strong|access|client|server|tester|master|"
    r"mysecret|mysql|redis|mongo|admin|token|value|super|hello|world|guest|user|pass|root|test|long|very|some|"
    r"none|null|true|false|welcome|qwerty|letmein|hunter|abcd?e?f?g?h?|auth|here|this|that|with|pwd|key|api|app|"
    r"foo|bar|baz|qux|the|new|old|bad|not|my|db|pw|is|in|id|x)++",
    re.IGNORECASE,
)
# What code and templates write where a value will stand.
_EXPRESSION = re.compile(r"[$%]?[({\[<]|[$%]\w|@\w+@|#\{|\w+\(|(?:os|process|self|this|env|config|settings)\.")
_UP = "0123456789abcdefghijklmnopqrstuvwxyz"
_SEQUENCE: Final = 8
"""Characters in their order, one after the other, that nobody draws by chance."""
_RANDOM = re.compile(r"[A-Za-z0-9+/=_.~%-]+")
_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])|(?<=[A-Z])[A-Z](?=[a-z])")
_SYMBOL = re.compile(r"[^\w\s.,:;/\\'\"=<>()\[\]{}|+-]")


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_HASH = re.compile(r"(?:sha\d{1,3}|md5)[=:_-]", re.IGNORECASE)
_DJANGO = "django-insecure-"
# Generators draw from these; commas, quotes and braces are of code that is written without blanks.
_PRINTED = re.compile(r"[A-Za-z0-9!@#$%^&*()=+_.?~-]+")
_SIGN = re.compile(r"[!@#$%^&*()=+_-]")
_TURN = re.compile(r"[A-Za-z](?=[^A-Za-z])|[0-9](?=[^0-9])|[^A-Za-z0-9](?=[A-Za-z0-9])")
# What a password that nobody put in quotes does not hold: calls, paths, lists.
_CODE = re.compile(r"[()\[\]{}<>=/\\.,:;|\"'`]")
_STRANGE = re.compile(r"(?<=.)[!@#$%^&*?~](?=.)|[!@#$%^&]\Z")


def is_filler(value: str, least: int = MIN_DISTINCT) -> bool:
    """Whether somebody wrote this to show where a secret goes: `your-token-here`, `xxxx`, `1234567890`."""
    return len(set(value)) < least or _FILLER.search(value) is not None or _has_sequence(value)


def is_filler_word(value: str) -> bool:
    """Whether a value is made of nothing but words that stand for secrets in manuals and tests: `test_password1`."""
    return _EMPTY_WORDS.fullmatch(value) is not None


def is_expression(value: str) -> bool:
    """Whether this stands for a value that is elsewhere: `${TOKEN}`, `{{ token }}`, `<token>`, `settings.TOKEN`."""
    return _EXPRESSION.match(value) is not None or "${" in value or "{{" in value or "%(" in value


def is_mixed(value: str) -> bool:
    """Whether letters of both cases, or letters and digits, stand in a value."""
    return _count_kinds(value) >= 2


def is_of_all_kinds(value: str) -> bool:
    """Whether letters of both cases and digits stand in a value, as in base64 and not in hashes and most paths."""
    return _count_kinds(value) == 3


def is_base64_secret(value: str) -> bool:
    """Whether a value is a secret in base64: random, and neither a hash nor a path."""
    return is_of_all_kinds(value) and looks_random(value)


def looks_random(value: str) -> bool:
    """Whether a value is a token that chance made, as far as one can see."""
    if len(value) < MIN_RANDOM or not _RANDOM.fullmatch(value):
        return False
    solid = len(value) >= MIN_SOLID and value.isalnum() and _count_kinds(value) < 3
    digits = 1 if len(value) >= MIN_SOLID else 2
    return _is_uneven(value, digits, CHANGES_SOLID if solid else CHANGES) and not is_filler(value)


def looks_like_password(value: str) -> bool:
    """Whether a value is what a person or a program takes for a password, where one is named."""
    if len(value) < MIN_PASSWORD or is_filler(value) or is_filler_word(value):
        return False
    if looks_random(value):
        return True
    kinds = _count_kinds(value)
    if _SYMBOL.search(value, 1):
        return kinds >= 2 and not is_expression(value)
    return kinds == 3 and _RANDOM.fullmatch(value) is not None and _is_uneven(value, 1, CHANGES_PASSWORD)


def looks_generated(value: str) -> bool:
    """Whether a value was drawn from letters, digits and all kinds of signs, as Django draws its key."""
    if len(value) < MIN_GENERATED or not _PRINTED.fullmatch(value) or is_filler(value.removeprefix(_DJANGO)):
        return False
    signs = len(_SIGN.findall(value))
    mixed = sum(map(str.isdigit, value)) >= 2 and sum(map(str.isalpha, value)) >= MIN_GENERATED // 4
    return mixed and signs >= 4 and len(_TURN.findall(value)) >= TURNS * len(value)


def looks_drawn(value: str) -> bool:
    """Whether a value is a token or a key that chance made, of whatever signs."""
    return looks_random(value) or looks_generated(value)


def is_token(value: str) -> bool:
    """The same, but for UUIDs, which are mostly the numbers of something."""
    return not _UUID.search(value) and looks_drawn(value)


def is_uuid(value: str) -> bool:
    """Whether a value is a UUID and nothing else."""
    return _UUID.fullmatch(value) is not None


def is_plainly_secret(value: str) -> bool:
    """Whether a value is a token even where little tells of it: it holds a long run of letters and digits, mixed as
    chance does. Paths, versions and long names do not."""
    if looks_generated(value):
        return True
    if not looks_random(value) or _HASH.match(value):
        return False
    return _UUID.fullmatch(value) is not None or any(_is_run(run) for run in _RUN.findall(value))


def is_plainly_password(value: str) -> bool:
    """Whether a value is a password even where little tells of it."""
    if is_plainly_secret(value):
        return True
    if not looks_like_password(value) or _CODE.search(value):
        return False
    kinds = _count_kinds(value)
    strange = _STRANGE.search(value) is not None
    return any(map(str.isdigit, value)) and (kinds == 3 or strange) and (strange or value.isalnum())


def _is_run(run: str) -> bool:
    return _count_kinds(run) >= 2 and len(_CHANGE.findall(run)) >= CHANGES * len(run)


def _is_uneven(value: str, digits: int, changes: float) -> bool:
    numerals = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    return numerals >= digits and letters >= 3 and len(_CHANGE.findall(value)) >= changes * (numerals + letters)


def _count_kinds(value: str) -> int:
    return sum(any(map(kind, value)) for kind in (str.islower, str.isupper, str.isdigit))


def _has_sequence(value: str) -> bool:
    low = value.lower()
    return any(low[at : at + _SEQUENCE] in _SEQUENCES for at in range(len(low) - _SEQUENCE + 1))


_SEQUENCES = frozenset(
    row[at : at + _SEQUENCE]
    for row in (
        _UP,
        _UP[::-1],
        "01234567890123456789",
        "1234567890abcdef",
        "qwertyuiop",
        "abcdefghijklmnopqrstuvwxyz",
    )
    for at in range(len(row) - _SEQUENCE + 1)
)
