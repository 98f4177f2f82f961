"""Packing code: well-formed whatever it holds, never over the budget, depth before breadth, no must lost silently."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from lxml import etree
from tests.cost import cpu_below

from outcrop.code.elements import CLOSING, NAMESPACE, OPENING
from outcrop.code.pack import pack_code
from outcrop.records import CodeNotes, Context, DocumentInfo, Explanation, Hit
from outcrop.text.tokens import vocabulary
from outcrop.text.tokens.estimate import SafeEstimate

TAG = f"{{{NAMESPACE}}}"
safe = SafeEstimate().count


def make_hit(
    text: str,
    number: int,
    *,
    file: int | None = None,
    path: str | None = None,
    index: int = 0,
    start: int = 0,
    terms: tuple[str, ...] = (),
    code: CodeNotes | None = None,
    gap: str = "",
    stale: bool | None = None,
    dirty: bool | None = None,
    revision: str | None = None,
    root: str | None = None,
    kind: str = "python",
) -> Hit:
    file = number if file is None else file
    document = DocumentInfo(
        id=file,
        collection="main",
        uri=f"/repo/f{file}.py",
        path=path or f"src/f{file}.py",
        origin="file",
        root=root,
        kind=kind,
        title="",
        tags=(),
        meta={},
        sha256="0",
        mtime_ns=None,
        size=None,
        created_at=0.0,
        updated_at=0.0,
        chunks=1,
        characters=len(text),
    )
    return Hit(
        chunk_ids=(number,),
        document=document,
        text=text,
        start=start,
        end=start + len(text),
        line_start=10 * index + 1,
        line_end=10 * index + 1 + text.count("\n"),
        page=None,
        heading_path=(),
        index=index,
        tokens=len(text) // 3,
        score=1 / (1 + number),
        distance=None,
        match_type="both",
        why=Explanation(1, 1.0, 1, 0.5, 0.5, (), terms),
        stale=stale,
        gap=gap,
        code=code,
        revision=revision,
        dirty=dirty,
    )


def function(number: int, lines: int = 20) -> str:
    body = "\n".join(f"    value_{i} = compute(value_{i - 1}, {i})" for i in range(1, lines))
    return f"def handler_{number}(request, timeout=None):\n{body}\n    return value_{lines - 1}"


def parse(context: Context) -> list[ET.Element]:
    root = ET.fromstring(context.text)
    assert root.tag == f"{TAG}chunks"
    return list(root)


def contents(context: Context) -> list[str]:
    return [element.findtext(f"{TAG}content") or "" for element in parse(context)]


def metadata(context: Context) -> list[dict[str, str]]:
    found = [element.find(f"{TAG}metadata") for element in parse(context)]
    return [dict(element.attrib) for element in found if element is not None]


def files(context: Context) -> int:
    return len({source.hit.document.id for source in context.sources})


# ------------------------------------------------------------------ well-formed

NASTY: Sequence[str] = (
    "]]>", "]]", ">", "<", "&", "&amp;", "<![CDATA[", "<!--", "-->", "<?xml", "</codeRag:content>",
    "\x00", "\x0b", "\x1f", "\ud800", "\udfff", "\ufffe", "\uffff", "\x7f", "\x85", "\u2028", "\r",
    "\r\n", "\t", '"', "'", "\n", "\n\n", "    ", "def f(a):", "x = 1", "é", "取", "🎉", "...", "{", "}",
    "(", "word",
)  # fmt: skip


def nasty(dice: random.Random, most: int) -> str:
    return "".join(dice.choices(NASTY, k=dice.randrange(most)))


def random_hit(dice: random.Random, number: int) -> Hit:
    code = CodeNotes(symbol=nasty(dice, 4), summary=nasty(dice, 6)) if dice.random() < 0.5 else None
    return make_hit(
        nasty(dice, 40),
        number,
        file=dice.randrange(4),
        path=f"src/{nasty(dice, 4)}.py",
        index=dice.randrange(4),
        start=100 * number,
        terms=("word", "x"),
        code=code,
        gap=dice.choice(("", "\n", "\n\n")),
        stale=dice.choice((True, False, None)),
        dirty=dice.choice((True, None)),
        revision=dice.choice((None, nasty(dice, 3))),
        root=dice.choice((None, f"/r/{nasty(dice, 3)}")),
    )


def cleaned(text: str) -> str:
    """What a reader of XML 1.0 gets of a text: its line ends, and a mark for what cannot be written."""
    text = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def test_thousands_of_random_packings_are_well_formed_and_give_the_code_back() -> None:
    dice = random.Random(20)
    hits = [random_hit(dice, number) for number in range(400)]
    packed = run = 0
    while packed < 3_000:
        run += 1
        chosen = dice.sample(hits, dice.randrange(1, 6))
        budget = dice.choice((0, 120, 300, 600, 1200, 5000))
        context = pack_code(chosen[1:], budget, must=chosen[: run % 2], count=len)
        assert context.tokens == len(context.text) <= budget
        if not context.text:
            assert not context.sources
            continue
        packed += 1
        etree.fromstring(context.text.encode())
        assert contents(context) == [cleaned(source.text) for source in context.sources]
        assert all("file" in attributes and "lines" in attributes for attributes in metadata(context))
    assert run < 9_000


def test_what_xml_cannot_hold_is_replaced_in_code_and_in_names() -> None:
    context = pack_code([make_hit("a\x00b\ud800<", 1, path="src/\x0bname.py")], 500)
    assert contents(context) == ["a\ufffdb\ufffd<"]
    assert metadata(context)[0]["file"] == "src/\ufffdname.py"


def test_code_reads_as_it_stands_and_in_cdata_where_it_must() -> None:
    context = pack_code([make_hit("a = b", 1), make_hit("if a < b && c:\n    x(']]>')", 2)], 2000)
    assert "<codeRag:content>a = b</codeRag:content>" in context.text
    assert "<![CDATA[if a < b && c:" in context.text
    assert contents(context) == ["a = b", "if a < b && c:\n    x(']]>')"]


# ------------------------------------------------------------------ the budget


class Growing:
    """A tokenizer that is worst of all: a text costs more than its parts."""

    def count(self, text: str) -> int:
        return int(len(text) ** 1.15)


class Runs:
    """A run of the same character is one token, so that more text can be fewer tokens."""

    def count(self, text: str) -> int:
        return len(re.findall(r"(.)\1*", text, re.DOTALL))


@pytest.mark.parametrize(
    "count", [safe, vocabulary("o200k").count, Growing().count, Runs().count, lambda text: len(text) // 4]
)
def test_the_budget_is_never_exceeded(count: Callable[[str], int]) -> None:
    dice = random.Random(3)
    for _ in range(40):
        hits = [
            make_hit(function(i, dice.randrange(1, 40)), i, file=i // 2, index=i % 2, start=i)
            for i in range(20)
        ]
        budget = dice.randrange(0, 4000)
        context = pack_code(hits, budget, must=hits[15:17], count=count)
        assert count(context.text) == context.tokens <= budget
        shown = {id_ for source in context.sources for id_ in source.hit.chunk_ids}
        assert shown | {hit.chunk_ids[0] for hit in context.left_out} == set(range(20))
        assert shown.isdisjoint({hit.chunk_ids[0] for hit in context.left_out})
        missing = {15, 16} - shown
        assert len(re.findall("did not fit", context.detail)) == len(missing)


def test_nothing_fits_and_nothing_found_are_empty_texts() -> None:
    assert pack_code([], 500).text == ""
    context = pack_code([make_hit("x = 1", 1)], 40)
    assert (context.text, context.tokens, len(context.left_out)) == ("", 0, 1)


def test_the_budget_is_used() -> None:
    hits = [make_hit(function(i, 60), i, terms=("value_30",)) for i in range(60)]
    for budget in (500, 2000, 8000):
        assert pack_code(hits, budget).tokens > 0.9 * budget


# ------------------------------------------------------------------ depth before breadth


@pytest.mark.parametrize("budget", [500, 2000, 8000])
def test_what_is_shown_is_whole_but_for_the_last(budget: int) -> None:
    hits = [make_hit(function(i, 30), i, file=i // 2, index=5 * (i % 2), start=9000 * i) for i in range(100)]
    context = pack_code(hits, budget)
    assert sum(source.truncated for source in context.sources) <= 1
    shown = {id_ for source in context.sources for id_ in source.hit.chunk_ids}
    assert 0 in shown
    assert len(context.sources) >= budget // 500


def test_a_likely_file_has_its_second_chunk_before_an_unlikely_one_its_first() -> None:
    likely = [replace(make_hit(function(i), i, file=1, index=3 * i, start=900 * i), score=0.8) for i in (1, 2)]
    unlikely = replace(make_hit(function(3), 3, file=3), score=0.2)
    found = [likely[0], unlikely, replace(likely[1], score=0.6)]
    context = pack_code(found, 700)
    assert [source.hit.chunk_ids for source in context.sources] == [(1,), (2,)]
    assert context.left_out == (unlikely,)


def test_four_of_five_tokens_are_content() -> None:
    notes = CodeNotes(symbol="shop.handlers", summary="A long story about what this function does. " * 2)
    hits = [
        make_hit(function(i, 18), i, file=i // 2, index=5 * (i % 2), start=i, code=notes) for i in range(100)
    ]
    count = vocabulary("o200k").count
    for budget in (2000, 8000):
        context = pack_code(hits, budget)
        assert sum(count(source.text) for source in context.sources) >= 0.8 * context.tokens


def test_what_stands_beside_a_hit_comes_along_and_is_not_missed() -> None:
    doc = make_hit('def take(self):\n    """Take one."""', 1, file=1, index=0)
    body = replace(
        make_hit("    self.wait()\n    return self.free.pop()", 2, file=1, index=1, start=40), score=0.4
    )
    far = replace(make_hit(function(3, 90), 3, file=1, index=5, start=900), score=0.001)
    context = pack_code([doc, make_hit(function(4, 12), 4)], 350, beside=[body, far])
    assert context.sources[0].hit.chunk_ids == (1, 2)
    assert "return self.free.pop()" in context.text
    assert 3 not in {id_ for source in context.sources for id_ in source.hit.chunk_ids}
    assert context.left_out == ()


def test_small_files_are_all_shown_as_long_as_there_is_room() -> None:
    hits = [make_hit(f"x = {i}", i) for i in range(12)]
    assert files(pack_code(hits, 900)) == 12


def test_a_signature_without_an_end_does_not_take_the_room_of_others() -> None:
    endless = make_hit(
        "def f(\n" + "".join(f"    {letter * 150},\n" for letter in "abcdef") + "):\n    pass", 9
    )
    hits = [endless, *(make_hit(function(i, 6), i) for i in range(8))]
    assert files(pack_code(hits, 1400)) >= 8


def test_a_long_signature_waits_until_all_short_ones_have_their_place() -> None:
    long = make_hit(f"def f(\n    {'a' * 150},\n):\n    pass", 99)
    short = [make_hit(f"x = {i}", i) for i in range(12)]
    assert files(pack_code(short, 900, count=safe)) == 12
    context = pack_code([long, *short], 900, count=safe)
    assert context.left_out == (long,)


@pytest.mark.parametrize("found", [1, 10])
def test_a_signature_longer_than_its_share_is_shown_where_there_is_room(found: int) -> None:
    options = "".join(
        f"    {word}: Optional[Mapping[str, Sequence[{word.title()}Setting]]] = None,\n"
        for word in ("host", "port", "user", "retries", "timeout")
    )
    hits = [make_hit(f"def connect_{i}(\n{options}) -> Connection:\n    return None", i) for i in range(found)]
    for budget in (400, 700, 1000):
        context = pack_code(hits, budget)
        assert context.sources[0].hit == hits[0]
        assert context.sources[0].text.startswith("def connect_0(\n    host")


def test_neighbours_of_several_files_are_each_joined_with_their_own() -> None:
    hits = [make_hit(f"x = {i}", i, file=i // 2, index=i % 2, start=10 * (i % 2)) for i in range(8)]
    context = pack_code(hits, 3000)
    assert [source.hit.chunk_ids for source in context.sources] == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_neighbours_without_anything_between_them_are_joined() -> None:
    hits = make_hit("x = 1\n", 1, file=1, index=0), make_hit("y = 2", 2, file=1, index=1, start=6)
    assert [source.hit.text for source in pack_code(hits, 3000).sources] == ["x = 1\ny = 2"]


def test_what_is_no_neighbour_stands_by_itself() -> None:
    apart = make_hit("x = 1", 1, file=1, index=0), make_hit("y = 2", 2, file=1, index=2, start=9)
    over = make_hit("x = 1", 1, file=1, index=0), make_hit("1\ny", 2, file=1, index=1, start=4)
    pages = tuple(
        replace(make_hit("text", i, file=1, kind="pdf", index=i - 1, start=9 * i), page=i) for i in (1, 2)
    )
    for hits in (apart, over, pages):
        assert len(pack_code(hits, 3000).sources) == 2


def test_an_elided_chunk_keeps_its_signature_and_the_line_that_matched() -> None:
    hit = make_hit(function(1, 60), 1, terms=("value_33",))
    (source,) = pack_code([hit], 150).sources
    assert source.truncated
    assert source.text.startswith("def handler_1(request, timeout=None):\n")
    assert "\n    ...\n    value_33 = compute(value_32, 33)\n" in source.text


def test_a_stump_is_not_begun() -> None:
    first, second = make_hit(function(1), 1), make_hit(function(2), 2)
    alone = pack_code([first], 5000).tokens
    context = pack_code([first, second], alone + 70)
    assert [source.hit for source in context.sources] == [first]
    assert len(pack_code([first, second], alone + 140).sources) == 2


def test_neighbours_become_one_chunk_and_files_stand_in_order_of_their_best() -> None:
    first, second = "def a():\n    return 1", "def b():\n    return 2"
    hits = [
        make_hit("x = 1", 1, file=1),
        make_hit(second, 2, file=2, index=1, start=25, gap="\n\n\n"),
        make_hit("y = 2", 3, file=3),
        make_hit(first, 4, file=2, index=0, start=0),
    ]
    context = pack_code(hits, 3000)
    assert contents(context) == ["x = 1", f"{first}\n\n\n{second}", "y = 2"]
    assert [entry["lines"] for entry in metadata(context)] == ["1-1", "1-12", "1-1"]
    joined = context.sources[1].hit
    assert joined.chunk_ids == (4, 2)
    assert (joined.start, joined.end, joined.score) == (0, 25 + len(second), hits[1].score)
    assert joined.text == f"{first}\n\n\n{second}"
    assert [source.number for source in context.sources] == [1, 2, 3]


# ------------------------------------------------------------------ what is said of a chunk


def described() -> Hit:
    return make_hit(
        function(1, 20),
        1,
        path='src/<odd>&"name".py',
        code=CodeNotes(symbol="Pool.acquire", summary="Takes a\n connection & waits."),
        stale=True,
        dirty=True,
        revision="0123456789abcdef0123456789abcdef01234567",
        root="/home/me/shop",
    )


def test_a_large_budget_says_all_that_is_known() -> None:
    context = pack_code([described()], 5000)
    assert metadata(context) == [
        {
            "file": 'src/<odd>&"name".py',
            "lines": "1-21",
            "symbol": "Pool.acquire",
            "dirty": "true",
            "stale": "true",
        }
    ]
    assert ET.fromstring(context.text).attrib == {"repository": "shop", "revision": "0123456789ab"}
    assert parse(context)[0].findtext(f"{TAG}commentary") == "Takes a connection & waits."
    assert [child.tag.removeprefix(TAG) for child in parse(context)[0]] == ["metadata", "commentary", "content"]


def test_a_small_budget_says_where_and_what_is_doubtful() -> None:
    context = pack_code([described()], 500)
    assert metadata(context) == [
        {"file": 'src/<odd>&"name".py', "lines": "1-21", "dirty": "true", "stale": "true"}
    ]
    assert parse(context)[0].find(f"{TAG}commentary") is None


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (999, set()),
        (1000, {"symbol", "commentary"}),
        (3999, {"symbol", "commentary"}),
        (4000, {"symbol", "commentary", "repository", "revision"}),
    ],
)
def test_what_is_said_of_a_chunk_grows_with_the_budget(budget: int, said: set[str]) -> None:
    context = pack_code([described()], budget)
    (told,) = metadata(context)
    commented = parse(context)[0].find(f"{TAG}commentary") is not None
    told |= ET.fromstring(context.text).attrib
    assert told.keys() | ({"commentary"} if commented else set()) == said | {"file", "lines", "dirty", "stale"}


def test_commentary_never_costs_a_file() -> None:
    notes = CodeNotes(summary="A long story about what this function does. " * 4)
    hits = [make_hit(function(i), i) for i in range(60)]
    commented = [make_hit(function(i), i, code=notes) for i in range(60)]
    assert files(pack_code(commented, 1500)) == files(pack_code(hits, 1500))


def test_commentary_that_has_no_room_is_left_out_and_costs_nothing() -> None:
    notes = CodeNotes(summary="A long story about what this function does. " * 200)
    plain = pack_code([make_hit(function(i, 60), i) for i in range(4)], 1500)
    assert pack_code([make_hit(function(i, 60), i, code=notes) for i in range(4)], 1500).text == plain.text


def test_a_repository_is_named_at_any_budget_when_there_are_several() -> None:
    hits = [make_hit("x = 1", i, revision="ab", root=f"/r/repo{i}") for i in range(2)]
    assert [entry["repository"] for entry in metadata(pack_code(hits, 400))] == ["repo0", "repo1"]
    assert all("revision" not in entry for entry in metadata(pack_code(hits, 400)))
    assert [entry["revision"] for entry in metadata(pack_code(hits, 5000))] == ["ab", "ab"]


def test_commentary_takes_no_more_than_a_quarter_of_what_it_explains() -> None:
    notes = CodeNotes(
        summary="Computes one value after the other and returns the last of them to whoever asked."
    )
    short, long = make_hit("x = 1", 1, code=notes), make_hit(function(2, 30), 2, code=notes)
    told = [element.find(f"{TAG}commentary") is not None for element in parse(pack_code([short, long], 5000))]
    assert told == [False, True]


def test_a_file_outside_any_repository_is_not_another_one() -> None:
    inside = make_hit("x = 1", 1, revision="ab", root="/r/repo")
    folder, single = make_hit("y = 2", 2, root="/r/folder"), make_hit("z = 3", 3, revision="cd")
    for outside in (folder, single):
        assert all("repository" not in entry for entry in metadata(pack_code([inside, outside], 600)))
        told = [entry.get("repository") for entry in metadata(pack_code([inside, outside], 5000))]
        assert told == ["repo", None]


def test_a_text_made_from_a_file_names_no_lines_of_it() -> None:
    assert metadata(pack_code([make_hit("text", 1, kind="notebook", index=2)], 500)) == [
        {"file": "src/f1.py", "part": "3"}
    ]
    paged = replace(make_hit("text", 1, kind="pdf", index=2), page=7)
    assert metadata(pack_code([paged], 500)) == [{"file": "src/f1.py", "page": "7"}]


def test_room_that_joining_neighbours_sets_free_makes_more_of_them_whole() -> None:
    """Six chunks that stand together are one element, and what five elements would cost goes to their lines."""
    hits = [
        make_hit(function(i, 24), i, file=1, index=i, start=2000 * i, gap="\n\n", terms=("value_3",))
        for i in range(6)
    ]
    whole = pack_code(hits, 100_000).tokens
    for budget in (whole - 400, whole - 200, whole - 100):
        context = pack_code(hits, budget)
        assert len(context.sources) == 1
        assert budget - 40 < context.tokens <= budget


# ------------------------------------------------------------------ musts


def test_a_must_stands_first_and_whole() -> None:
    hits = [make_hit(function(i), i) for i in range(10)]
    context = pack_code(hits, 700, must=[hits[7]])
    assert context.sources[0].hit.chunk_ids == (7,)
    assert context.sources[0].text == hits[7].text
    assert context.detail == ""
    assert sum(7 in source.hit.chunk_ids for source in context.sources) == 1


def test_a_must_that_cannot_fit_costs_the_others_nothing() -> None:
    endless = make_hit(
        "def f(\n" + "".join(f"    {letter * 150},\n" for letter in "abcdef") + "):\n    pass", 9
    )
    hits = [make_hit(f"x = {i}", i) for i in range(2)]
    context = pack_code(hits, 300, must=[endless], count=safe)
    assert [source.hit for source in context.sources] == hits
    assert context.left_out == (endless,)
    assert "did not fit" in context.detail


def dearer(text: str) -> int:
    """Counts long texts for more than their parts."""
    return len(text) // 4 + 80 * (len(text) > 1200)


def test_what_turns_out_too_long_as_a_whole_still_uses_the_budget() -> None:
    hits = [make_hit(function(i, 30), i) for i in range(8)]
    context = pack_code(hits, 800, count=dearer)
    assert 600 < context.tokens <= 800


def test_what_turns_out_too_long_as_a_whole_loses_its_last_pieces_and_no_must() -> None:
    hits = [make_hit(function(i, 6), i) for i in range(8)]
    context = pack_code(hits, 500, must=[hits[6]], count=dearer)
    shown = [source.hit.chunk_ids[0] for source in context.sources]
    assert context.tokens <= 500
    assert len(context.text) > 1200, "it was counted for more"
    assert shown[0] == 6
    assert shown[1:] == list(range(len(shown) - 1)), "the best of the others"


def test_a_must_too_long_is_elided() -> None:
    long = make_hit(function(1, 100), 1, terms=("value_50",))
    context = pack_code([], 400, must=[long])
    assert context.sources[0].truncated
    assert "value_50 = " in context.sources[0].text
    assert context.detail == ""


def test_a_must_that_does_not_fit_is_reported_with_the_length_that_would_do() -> None:
    musts = [make_hit(function(i), i) for i in range(8)]
    context = pack_code([make_hit("x = 1", 99)], 400, must=musts)
    assert context.left_out[0] in musts
    reported = re.findall(r"must (\S+) did not fit: raise the length to at least (\d+)", context.detail)
    assert [place for place, _ in reported] == [hit.place for hit in context.left_out if hit in musts]
    enough = pack_code([], int(reported[0][1]), must=musts)
    assert enough.detail == ""
    assert len(enough.sources) == 8
    by_length = pack_code([], 400, must=musts, count=len)
    (least,) = set(re.findall(r"at least (\d+)", by_length.detail))
    assert pack_code([], int(least), must=musts, count=len).detail == ""
    assert pack_code([], int(least) - 1, must=musts, count=len).detail != "", "and no less will do"


def test_a_must_gets_its_commentary_when_a_line_would_still_fit_beside_it() -> None:
    must = make_hit(function(1, 30), 1, code=CodeNotes(summary="Computes one value after the other."))
    full = pack_code([], 100_000, must=[must], count=len)
    assert "one value after" in full.text
    assert pack_code([], full.tokens + 24, must=[must], count=len).text == full.text
    assert "one value after" not in pack_code([], full.tokens + 23, must=[must], count=len).text


# ------------------------------------------------------------------ cost


def test_a_hundred_hits_are_packed_in_a_moment() -> None:
    hits = [
        make_hit(function(i, 18), i, file=i // 2, index=5 * (i % 2), start=i, terms=("value_9",))
        for i in range(100)
    ]
    assert 200 < safe(hits[0].text) < 450
    with cpu_below(1):  # about 30 ms on an idle core
        pack_code(hits, 8000)


def test_the_wrapper_is_one_element_with_its_namespace() -> None:
    context = pack_code([make_hit("x = 1", 1)], 500)
    assert context.text.startswith(f"{OPENING}>\n")
    assert context.text.endswith(CLOSING)


def test_what_fits_exactly_is_there_whole() -> None:
    texts = [f"def run_{n}(value):\n" + f"    step = value + {n}\n" * 20 + "    return step" for n in range(3)]
    apart = [make_hit(text, number) for number, text in enumerate(texts, 1)]
    one_file = [make_hit(text, n, file=1, index=5 * n, start=900 * n) for n, text in enumerate(texts, 1)]
    for hits in (apart, one_file):
        full = pack_code(hits, 100_000, count=len)
        assert all(not source.truncated for source in full.sources)
        assert pack_code(hits, full.tokens, count=len).text == full.text
        less = pack_code(hits, full.tokens - 1, count=len)
        assert len(less.sources) == 3
        (cut,) = (source for source in less.sources if source.truncated)
        assert (cut.whole_tokens, cut.shown_tokens) == (len(cut.hit.text), len(cut.text))
        assert {(source.whole_tokens, source.shown_tokens) for source in full.sources} == {(None, None)}
    joined = [make_hit(text, n, file=1, index=n, start=500 * n, gap="\n") for n, text in enumerate(texts)]
    full = pack_code(joined, 100_000, count=len)
    (source,) = full.sources
    assert (source.hit.end, source.hit.line_end) == (joined[-1].end, joined[-1].line_end)
    assert pack_code(joined, full.tokens, count=len).text == full.text
    (letter,) = pack_code([make_hit("x", 1)], 100_000, count=len).sources
    needed = len(pack_code([letter.hit], 100_000, count=len).text)
    assert pack_code([letter.hit], needed, count=len).tokens == needed
