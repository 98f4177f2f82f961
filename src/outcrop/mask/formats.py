"""Keys recognised by their form: one table, one row per format. They are long words, so only those are examined.

The part of a key that is kept shows who issued it. Forms are as published by the issuers, or as observed.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from outcrop.mask.randomness import MASK, is_base64_secret, is_filler, is_mixed, looks_random
from outcrop.system.dataclass import dataclass
from outcrop.system.limits import timed

WORD: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-"
"""The characters of keys."""
SHORTEST: Final = 20
"""Every key begins with this many characters of WORD; an AWS key id has exactly these. The few keys that may have a
`/`, `+` or `~` earlier are masked only after a telling name."""

_HEX: Final = "[0-9a-f]"
_ALNUM: Final = "[A-Za-z0-9]"
_ANY: Final = r"[\w-]"
_UUID: Final = f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_END: Final = r"(?![\w*-])"
"""The end of the word. A star belongs to it, as it stands for something masked."""

Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Beside:
    """A secret without a recognisable form, found near a key that has one."""

    pattern: re.Pattern[str]
    check: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A kind of key: how it may begin, `more` that is also kept, and the pattern of what is masked. Where the key has
    no fixed beginning, `after` is a pattern of fixed length for what precedes it, ending in a literal character.
    `check` decides in the end. An empty secret means that the secret is the one `beside`."""

    name: str
    begins: tuple[str, ...] = ()
    after: str = ""
    more: str = ""
    secret: str
    check: Check | None = None
    beside: Beside | None = None


def _row(name: str, begins: str, secret: str, check: Check | None = None, more: str = "") -> Format:
    return Format(name=name, begins=tuple(begins.split()), more=more, secret=secret, check=check)


def _after(name: str, after: str, secret: str, more: str = "") -> Format:
    return Format(name=name, after=after, more=more, secret=secret)


def _is_discord(token: str) -> bool:
    """A bot's token begins with the bot's number in base64, passed here without its first two characters."""
    head = "MT" + token.partition(".")[0]
    try:
        return b64decode(head + "=" * (-len(head) % 4)).isdigit()
    except (NotBase64, ValueError):
        return False


_AWS_SECRET: Final = Beside(
    re.compile(r"(?<![\w/+*.-])([A-Za-z0-9/+]{40})(?![\w/+=*.-])", re.ASCII), is_base64_secret
)
_TWILIO_SECRET: Final = Beside(re.compile(r"(?<![\w*])([0-9a-f]{32})(?![\w*])", re.ASCII), looks_random)

FORMATS: Final = (
    # clouds
    Format(
        name="AWS access key",
        begins=("AKIA", "ASIA", "ABIA", "ACCA"),
        secret=f"[A-Z2-7]{{16}}{_END}",
        beside=_AWS_SECRET,
    ),
    _row("AWS Bedrock", "ABSK", "[A-Za-z0-9+/]{100,280}={0,2}"),
    _row("Google API", "AIza", f"{_ANY}{{35}}{_END}"),
    _row("Google OAuth client", "GOCSPX-", f"{_ANY}{{28}}{_END}"),
    _after("Google access token", r"ya29\.", f"{_ANY}{{40,2000}}"),
    _after("Google refresh token", "1//", f"0{_ANY}{{40,200}}"),
    _after("Azure client", r"\dQ~", r"[\w~.-]{31,34}(?![\w~*-])"),
    _row("Alibaba", "LTAI", f"{_ALNUM}{{16,24}}{_END}", is_mixed),
    _row("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", f"{_HEX}{{64}}"),
    _row("Heroku", "HRKU-", f"{_ANY}{{36,70}}"),
    _row("Fly", "fo1_ fm1a_ fm1r_ fm2_", r"[\w+/=-]{40,2000}"),
    _row("Netlify", "nfp_ nfc_ nfo_", f"{_ALNUM}{{36,40}}{_END}"),
    _row("Supabase", "sbp_ sb_secret_", f"{_ANY}{{31,48}}{_END}", is_mixed),
    _row("Databricks", "dapi", rf"{_HEX}{{32}}(?:-\d)?{_END}"),
    _row("PlanetScale", "pscale_tkn_ pscale_oauth_ pscale_pw_", f"{_ANY}{{32,64}}"),
    _row("Tailscale", "tskey-", f"{_ANY}{{20,80}}", is_mixed, more="(?:[a-z]{3,12}-)?"),
    _after("Terraform Cloud", r"\.atlasv1\.", r"[\w=-]{60,70}"),
    _after("Vault", r"hv[bsr]\.", f"{_ANY}{{24,300}}"),
    _after("Doppler", r"dp\.[a-z]{2}\.", f"{_ALNUM}{{40,44}}{_END}"),
    _row("Pulumi", "pul-", f"{_HEX}{{40}}{_END}"),
    # code and packages
    _row("GitHub", "ghp_ gho_ ghr_ ghs_ ghu_", f"{_ALNUM}{{36,255}}"),
    _row("GitHub fine-grained", "github_pat_", r"\w{60,255}"),
    _row(
        "GitLab",
        "glpat- glagent- glcbt- gldt- glffct- glft- glimt- gloas- glptt- glrt- glsoat-",
        rf"{_ANY}{{20,300}}(?:\.[0-9a-z]{{2}}\.?[0-9a-z]{{7,9}})?",
    ),
    _row("GitLab runner", "GR1348941", f"{_ANY}{{20}}"),
    _row("Atlassian", "ATATT3 ATCTT3 ATBB", f"{_ANY}{{24,250}}(?:=[0-9A-F]{{8}})?", is_mixed),
    _row("npm", "npm_", f"{_ALNUM}{{36}}{_END}"),
    _row("PyPI", "pypi-", f"AgE{_ANY}{{50,1000}}"),
    _row("RubyGems", "rubygems_", f"{_HEX}{{48}}"),
    _row("NuGet", "oy2", f"[a-z0-9]{{43}}{_END}", looks_random),
    _row("crates.io", "cio", f"{_ALNUM}{{32}}{_END}", looks_random),
    _row("Docker Hub", "dckr_pat_ dckr_oat_", f"{_ANY}{{27,64}}"),
    _row("Artifactory", "AKCp", f"{_ALNUM}{{69}}{_END}"),
    _row("CircleCI", "CCIPAT_", f"{_ALNUM}{{22}}_{_HEX}{{40}}"),
    _row("Buildkite", "bkua_ bkui_", f"{_ALNUM}{{40}}"),
    _row("Sourcegraph", "sgp_", f"(?:{_HEX}{{16}}_)?{_HEX}{{40}}", more="(?:local_)?"),
    _row("Postman", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}"),
    # models
    _row("Anthropic", "sk-ant-", f"{_ANY}{{20,200}}", is_mixed, more=r"(?:[a-z]{2,12}\d\d-)?"),
    _row("OpenAI", "sk-proj- sk-svcacct- sk-admin- sk-None-", f"{_ANY}{{20,200}}", is_mixed),
    _row("OpenRouter", "sk-or-v1-", f"{_HEX}{{64}}"),
    _row("OpenAI and others alike", "sk-", f"{_ALNUM}{{32,64}}{_END}", is_mixed),
    _row("Hugging Face", "hf_ api_org_", f"{_ALNUM}{{34,40}}{_END}", is_mixed),
    _row("Groq", "gsk_", f"{_ALNUM}{{40,60}}{_END}"),
    _row("xAI", "xai-", f"{_ALNUM}{{70,90}}{_END}"),
    _row("Perplexity", "pplx-", f"{_ALNUM}{{40,60}}{_END}", is_mixed),
    _row("Replicate", "r8_", f"{_ALNUM}{{37}}{_END}", is_mixed),
    _row("LangSmith", "lsv2_pt_ lsv2_sk_", f"{_HEX}{{32}}_{_HEX}{{10}}"),
    # messages
    _row("Slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", r"(?=[A-Za-z0-9-]{0,20}\d)[A-Za-z0-9-]{18,250}"),
    _row("Slack app", "xapp-", rf"[A-Z0-9]{{8,16}}-\d{{8,16}}-{_HEX}{{40,80}}", more=r"\d-"),
    _after("Telegram", r"\d{8}:", f"AA{_ANY}{{33}}{_END}"),
    _row(
        "Discord",
        "MD MT Mj Mz ND NT Nj Nz OD OT",  # how a number begins in base64
        rf"{_ALNUM}{{22,26}}\.{_ANY}{{6}}\.{_ANY}{{27,40}}",
        _is_discord,
    ),
    _after("SendGrid", r"SG\.", rf"{_ANY}{{22}}\.{_ANY}{{43}}"),
    Format(name="Twilio API", begins=("SK",), secret=f"{_HEX}{{32}}{_END}", beside=_TWILIO_SECRET),
    Format(name="Twilio account", begins=("AC",), more=f"{_HEX}{{32}}{_END}", secret="", beside=_TWILIO_SECRET),
    _row("Mailgun", "key-", f"{_HEX}{{32}}{_END}"),
    _row("Brevo", "xkeysib-", f"{_HEX}{{64}}-{_ALNUM}{{16}}"),
    # shops, payment, work
    _row("Stripe", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", f"{_ALNUM}{{16,247}}"),
    _row("Stripe webhook", "whsec_", f"{_ALNUM}{{32,64}}"),
    _row("Square", "sq0atp- sq0csp-", f"{_ANY}{{22,60}}"),
    _row("Shopify", "shpat_ shpca_ shppa_ shpss_ shptka_", "[0-9a-fA-F]{32}"),
    _row("Linear", "lin_api_", f"{_ALNUM}{{40}}"),
    _row("Notion", "ntn_", f"{_ALNUM}{{40,50}}"),
    _row("Notion, older", "secret_", f"{_ALNUM}{{43}}{_END}", is_mixed),
    _after("Airtable", rf"pat{_ALNUM}{{14}}\.", f"{_HEX}{{64}}"),
    _row("Figma", "figd_", f"{_ANY}{{40,50}}"),
    _row("HubSpot", "pat-na pat-eu", _UUID, more=r"\d-"),
    _row("Contentful", "CFPAT-", f"{_ANY}{{43}}"),
    _row("Typeform", "tfp_", f"{_ANY}{{40,70}}"),
    _after("Dropbox", r"sl\.", f"{_ANY}{{130,1500}}"),
    _after("Mapbox", r"sk\.", rf"eyJ{_ANY}{{60,150}}\.{_ANY}{{20,30}}"),
    # monitoring
    _row("Sentry", "sntrys_ sntryu_", r"[\w+/=-]{40,500}"),
    _row("Grafana", "glc_ glsa_", r"[\w+/=]{32,500}", is_mixed),
    _row("New Relic", "NRAK-", "[A-Z0-9]{27}"),
    _after("Dynatrace", r"dt0[a-z]\d\d\.", "[A-Z0-9]{64}", more=r"[A-Z0-9]{24}\."),
    # of any issuer
    _row("JSON web token", "eyJ", rf"eyJ{_ANY}{{10,}}+\.{_ANY}{{10,}}+", more=rf"{_ANY}{{10,}}+\."),
    _row("1Password", "ops_eyJ", "[A-Za-z0-9+/]{200,2000}={0,3}"),
    _row("age", "AGE-SECRET-KEY-1", "[A-Z0-9]{58}"),
)
"""Every format, specific ones before general ones."""


@dataclass(frozen=True, slots=True)
class Family:
    """Formats with the same beginning in one pattern: group i is the secret of `kinds[i - 1]`."""

    pattern: re.Pattern[str]
    kinds: tuple[Format, ...]


def _gather(rows: list[tuple[str, str, Format]]) -> dict[str, Family]:
    """(key, pattern of what is kept, format) as one family a key."""
    families = {}
    for key in dict.fromkeys(key for key, _, _ in rows):
        own = [(kept, kind) for other, kept, kind in rows if other == key]
        pattern = "|".join(f"{kept}{kind.more}({kind.secret})" for kept, kind in own)
        families[key] = Family(re.compile(pattern, re.ASCII), tuple(kind for _, kind in own))
    return families


BY_BEGINNING: Final = _gather([(word[:2], re.escape(word), row) for row in FORMATS for word in row.begins])
"""Formats by their first two characters."""
BY_BEFORE: Final = _gather([(row.after[-1], f"(?<={row.after})", row) for row in FORMATS if row.after])
"""The other formats by the character before them."""

Span = tuple[int, int]

BESIDE: Final = 300
"""How far a secret may be from its key id: a few lines of configuration (not measured)."""

_BREAK: Final = b"\1"
_BREAKS: Final = bytes(character not in WORD for character in range(256))
# The end of an escape may look like part of the word: `\n` in a string, `%3D` in a URL.
_ESCAPES: Final = {"\\": 1, "%": 2}
_BEGINNINGS: Final = np.zeros(1 << 16, np.bool_)
_BEGINNINGS[[int.from_bytes(pair.encode(), "big") for pair in BY_BEGINNING]] = True
_BEFORES: Final = np.zeros(1 << 8, np.bool_)
_BEFORES[[ord(character) for character in (*BY_BEFORE, *_ESCAPES)]] = True


def find_known(text: str, data: bytes) -> Iterator[Span]:
    """Find keys of a known form; `data` is the same text, one byte per character."""
    done = 0
    looked: dict[Beside, int] = {}
    for start in timed(_likely_words(data)):
        before = text[start - 1 : start]
        # What follows a masked key was not a key before masking either.
        if start < done or before == MASK:
            continue
        found = _match(text, start, before)
        if found is None and before in _ESCAPES:
            found = _match(text, start + _ESCAPES[before], "")
        if found is not None:
            kind, around, secret = found
            done = around[1]
            if secret[0] < secret[1]:
                yield secret
            if kind.beside is not None:
                yield from _find_beside(text, kind.beside, around, looked)


def _match(text: str, start: int, before: str) -> tuple[Format, Span, Span] | None:
    """The key that begins here: its kind, its span, and the span of its secret part."""
    for family in (BY_BEGINNING.get(text[start : start + 2]), BY_BEFORE.get(before)):
        match = family.pattern.match(text, start) if family else None
        if family is None or match is None:
            continue
        group = match.lastindex or 0
        kind, secret = family.kinds[group - 1], match[group]
        if not secret or not (is_filler(secret) or (kind.check and not kind.check(secret))):
            return kind, match.span(), match.span(group)
    return None


def _find_beside(text: str, beside: Beside, around: Span, looked: dict[Beside, int]) -> Iterator[Span]:
    """The secret that goes with a key. No stretch is read twice: `looked` says how far each kind has been read."""
    start, end = around
    first, last = max(start - BESIDE, looked.get(beside, 0)), end + BESIDE
    looked[beside] = last
    for match in beside.pattern.finditer(text, first, last + 1):
        # a match that ends beyond the window may be truncated
        if match.end() <= last and beside.check(match[1]) and not start <= match.start() < end:
            yield match.span(1)


def _likely_words(data: bytes) -> list[int]:
    """Start offsets of long words that begin like a key, or follow what keys follow. Four characters are compared at a
    time: a word of SHORTEST characters holds four aligned groups of four in a row, and few shorter ones do."""
    marks = _BREAK * 4 + data.translate(_BREAKS) + _BREAK * (4 + -len(data) % 4)
    quads = np.frombuffer(marks, np.uint32) == 0
    if len(quads) < 4:
        return []
    inside = quads[:-3] & quads[1:-2] & quads[2:-1] & quads[3:]
    at = 4 * (np.flatnonzero(inside[1:] > inside[:-1]) + 1)  # the first group is never inside: it is padding
    if not len(at):
        return []
    ends = np.frombuffer(marks, np.uint8)
    one = ends[at - 1] == 0
    two = one & (ends[at - 2] == 0)
    three = two & (ends[at - 3] == 0)
    starts = at - 4 - one - two - three
    characters = np.frombuffer(data, np.uint8)
    pairs = characters[starts].astype(np.uint16) << 8 | characters[starts + 1]
    likely = _BEGINNINGS[pairs] | _BEFORES[characters[starts - 1]]
    found: list[int] = starts[likely].tolist()
    return found
