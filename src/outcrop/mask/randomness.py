"""Is this value a secret, or only in a place where one could be? Random strings do not look like what people write."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "*"

MIN_RANDOM: Final = 16
"""Shortest token recognised by its looks: shorter ones look like names with a number."""
MIN_SOLID: Final = 24
"""From this length on, a run without `-`, `_` or the like is no longer a name."""
MIN_PASSWORD: Final = 8
"""Shortest password recognised after a name that announces one."""
CHANGES: Final = 0.22
"""Share of neighbours between which the kind of character changes (`a1`, `1a`, `aB`). Random base32 has 0.30,
lower-case letters with digits 0.40, hexadecimal 0.47, other alphabets more; a name like `AES256GCMSha384` has 0.2, most
have a tenth."""
CHANGES_SOLID: Final = 0.15
"""The same for MIN_SOLID unbroken characters in one case: `V1ServiceAccountTokenProjection` has 0.16."""
CHANGES_PASSWORD: Final = 0.3
"""The same for a password shorter than MIN_RANDOM. The thresholds were not tuned, but their effect was measured: after
a telling name 90 to 100 % of random tokens (hexadecimal, base32 to base64, 16 to 64 characters) are masked, and 80 to
97 % of random passwords of 12 and 16 characters; in 2 GB of published packages one value per megabyte is, of which
about one in fifty is neither a secret nor meant to look like one."""
MIN_GENERATED: Final = 32
"""Shortest key drawn from letters, digits and symbols; Django's have 50 (not measured)."""
TURNS: Final = 0.4
"""Share of such a key's characters followed by one of another kind: letter, digit, symbol. Random keys from Django's
alphabet have 0.6 (not measured)."""
MIN_DISTINCT: Final = 6
"""Fewest different characters in a key: sixteen random hexadecimal digits have ten (not measured)."""

_FILLER = re.compile(
    r"example|sample|placeholder|changeme|change[_-]me|redacted|dummy|fake|x{4}|your|\Amy[_-]|insert|replace"
    r"|[_-]here|todo|\.\.\.|\*{4}|deadbeef|foobar|lorem",
    re.IGNORECASE,
)
# Words that make up placeholder values. Longest first: the match is possessive and never backtracks.
_EMPTY_WORDS = re.compile(
    r"(?>[\W\d_]|password|passphrase|passwort|database|security|postgres|required|username|supersecret|secret"
    r"|default|example|testing|encrypt|private|strings?|passwd|random|strong|access|client|server|tester|master|"
    r"mysecret|mysql|redis|mongo|admin|token|value|super|hello|world|guest|user|pass|root|test|long|very|some|"
    r"none|null|true|false|welcome|qwerty|letmein|hunter|abcd?e?f?g?h?|auth|here|this|that|with|pwd|key|api|app|"
    r"foo|bar|baz|qux|the|new|old|bad|not|my|db|pw|is|in|id|x)++",
    re.IGNORECASE,
)
# What code and templates write in place of a value.
_EXPRESSION = re.compile(r"[$%]?[({\[<]|[$%]\w|@\w+@|#\{|\w+\(|(?:os|process|self|this|env|config|settings)\.")
_UP = "0123456789abcdefghijklmnopqrstuvwxyz"
_SEQUENCE: Final = 8
"""Consecutive characters in alphabetical or keyboard order that do not occur by chance."""
_RANDOM = re.compile(r"[A-Za-z0-9+/=_.~%-]+")
_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])|(?<=[A-Z])[A-Z](?=[a-z])")
_SYMBOL = re.compile(r"[^\w\s.,:;/\\'\"=<>()\[\]{}|+-]")

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]{12,}")
_HASH = re.compile(r"(?:sha\d{1,3}|md5)[=:_-]", re.IGNORECASE)
_DJANGO = "django-insecure-"
# Generators draw from these; commas, quotes and braces mean code written without spaces.
_PRINTED = re.compile(r"[A-Za-z0-9!@#$%^&*()=+_.?~-]+")
_SIGN = re.compile(r"[!@#$%^&*()=+_-]")
_TURN = re.compile(r"[A-Za-z](?=[^A-Za-z])|[0-9](?=[^0-9])|[^A-Za-z0-9](?=[A-Za-z0-9])")
# What an unquoted password does not contain: calls, paths, lists.
_CODE = re.compile(r"[()\[\]{}<>=/\\.,:;|\"'`]")
_STRANGE = re.compile(r"(?<=.)[!@#$%^&*?~](?=.)|[!@#$%^&]\Z")


def is_filler(value: str, least: int = MIN_DISTINCT) -> bool:
    """Whether somebody wrote this to show where a secret goes: `your-token-here`, `xxxx`, `1234567890`."""
    return len(set(value)) < least or _FILLER.search(value) is not None or _has_sequence(value)


def is_filler_word(value: str) -> bool:
    """Whether a value consists only of words that manuals and tests use in place of secrets: `test_password1`."""
    return _EMPTY_WORDS.fullmatch(value) is not None


def is_expression(value: str) -> bool:
    """Whether this refers to a value defined elsewhere: `${TOKEN}`, `{{ token }}`, `<token>`, `settings.TOKEN`."""
    return _EXPRESSION.match(value) is not None or "${" in value or "{{" in value or "%(" in value


def is_mixed(value: str) -> bool:
    """Whether a value has letters of both cases, or letters and digits."""
    return _count_kinds(value) >= 2


def is_of_all_kinds(value: str) -> bool:
    """Whether a value has letters of both cases and digits, as base64 does, unlike hashes and most paths."""
    return _count_kinds(value) == 3


def is_base64_secret(value: str) -> bool:
    """Whether a value is a secret in base64: random, and neither a hash nor a path."""
    return is_of_all_kinds(value) and looks_random(value)


def looks_random(value: str) -> bool:
    """Whether a value looks like a randomly generated token."""
    if len(value) < MIN_RANDOM or not _RANDOM.fullmatch(value):
        return False
    solid = len(value) >= MIN_SOLID and value.isalnum() and _count_kinds(value) < 3
    digits = 1 if len(value) >= MIN_SOLID else 2
    return _is_uneven(value, digits, CHANGES_SOLID if solid else CHANGES) and not is_filler(value)


def looks_like_password(value: str) -> bool:
    """Whether a value looks like a password, after a name that announces one."""
    if len(value) < MIN_PASSWORD or is_filler(value) or is_filler_word(value):
        return False
    if looks_random(value):
        return True
    kinds = _count_kinds(value)
    if _SYMBOL.search(value, 1):
        return kinds >= 2 and not is_expression(value)
    return kinds == 3 and _RANDOM.fullmatch(value) is not None and _is_uneven(value, 1, CHANGES_PASSWORD)


def looks_generated(value: str) -> bool:
    """Whether a value was drawn from letters, digits and symbols, like Django's secret key."""
    if len(value) < MIN_GENERATED or not _PRINTED.fullmatch(value) or is_filler(value.removeprefix(_DJANGO)):
        return False
    signs = len(_SIGN.findall(value))
    mixed = sum(map(str.isdigit, value)) >= 2 and sum(map(str.isalpha, value)) >= MIN_GENERATED // 4
    return mixed and signs >= 4 and len(_TURN.findall(value)) >= TURNS * len(value)


def looks_drawn(value: str) -> bool:
    """Whether a value is a randomly generated token or key, from any alphabet."""
    return looks_random(value) or looks_generated(value)


def is_token(value: str) -> bool:
    """The same without UUIDs, which mostly identify something."""
    return not _UUID.search(value) and looks_drawn(value)


def is_uuid(value: str) -> bool:
    """Whether a value is a UUID and nothing else."""
    return _UUID.fullmatch(value) is not None


def is_plainly_secret(value: str) -> bool:
    """Whether a value is a token even on weak evidence: it holds a long random run of letters and digits, which paths,
    versions and long names do not."""
    if looks_generated(value):
        return True
    if not looks_random(value) or _HASH.match(value):
        return False
    return _UUID.fullmatch(value) is not None or any(
        is_mixed(run) and len(_CHANGE.findall(run)) >= CHANGES * len(run) for run in _RUN.findall(value)
    )


def is_plainly_password(value: str) -> bool:
    """Whether a value is a password even on weak evidence."""
    if is_plainly_secret(value):
        return True
    if not looks_like_password(value) or _CODE.search(value):
        return False
    kinds = _count_kinds(value)
    strange = _STRANGE.search(value) is not None
    return any(map(str.isdigit, value)) and (kinds == 3 or strange) and (strange or value.isalnum())


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
