"""An evaluation as one HTML page that needs nothing else: plots, and every query with what was expected and found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Final

from outcrop.evals.run import EvalReport, EvalRow
from outcrop.text.directions import isolate_code

WIDTH: Final = 420
HEIGHT: Final = 200
_LEFT: Final = 40
_BOTTOM: Final = 34
_TOP: Final = 18
_BINS: Final = 20


def bars(title: str, values: Sequence[tuple[str, float]], *, top: float, percent: bool = False) -> str:
    """Upright bars with their values above them; `top` is the value of a full bar."""
    room = WIDTH - _LEFT - 8
    step = room / max(1, len(values))
    parts = [_axis()]
    for i, (label, value) in enumerate(values):
        height = (HEIGHT - _TOP - _BOTTOM) * (value / top if top else 0)
        x, y = _LEFT + i * step, HEIGHT - _BOTTOM - height
        shown = f"{value:.0%}" if percent else f"{value:g}"
        parts.append(
            f'<rect class="bar" x="{x + step * 0.15:.1f}" y="{y:.1f}" width="{step * 0.7:.1f}" '
            f'height="{height:.1f}"><title>{escape(label)}: {shown}</title></rect>'
        )
        parts.append(_text(x + step / 2, y - 4, shown))
        parts.append(_text(x + step / 2, HEIGHT - _BOTTOM + 14, label))
    return _figure(title, parts)


def histogram(title: str, values: Sequence[float], unit: str) -> str:
    """How often values of each size occur, in bins of equal width."""
    if not values:
        return ""
    low, high = min(values), max(values)
    width = (high - low) / _BINS or 1.0
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int((value - low) / width))] += 1
    room = WIDTH - _LEFT - 8
    step, most = room / _BINS, max(counts)
    parts = [_axis()]
    for i, count in enumerate(counts):
        height = (HEIGHT - _TOP - _BOTTOM) * count / most
        parts.append(
            f'<rect class="bar" x="{_LEFT + i * step + 0.5:.1f}" y="{HEIGHT - _BOTTOM - height:.1f}" '
            f'width="{step - 1:.1f}" height="{height:.1f}"><title>{low + i * width:.2f}–'
            f"{low + (i + 1) * width:.2f} {escape(unit)}: {count}</title></rect>"
        )
    for share in (0.0, 0.5, 1.0):
        value = low + share * _BINS * width
        parts.append(_text(_LEFT + share * room, HEIGHT - _BOTTOM + 14, f"{value:.2f}"))
    parts.append(_text(_LEFT - 6, _TOP + 6, str(most), "end"))
    parts.append(_text(_LEFT + room / 2, HEIGHT - 4, unit))
    return _figure(title, parts)


def scatter(title: str, points: Sequence[tuple[float, float, str]], across: str, upward: str) -> str:
    """Points in the unit square with the diagonal; each has a label to hover over."""
    side_x, side_y = WIDTH - _LEFT - 8, HEIGHT - _TOP - _BOTTOM
    bottom = HEIGHT - _BOTTOM
    parts = [_axis(), f'<line class="rule" x1="{_LEFT}" y1="{bottom}" x2="{_LEFT + side_x}" y2="{_TOP}"/>']
    for x, y, label in points:
        parts.append(
            f'<circle class="{"good" if y > x else "bad"}" cx="{_LEFT + x * side_x:.1f}" '
            f'cy="{bottom - y * side_y:.1f}" r="3.5"><title>{escape(label)}</title></circle>'
        )
    parts.extend(_text(_LEFT + share * side_x, bottom + 14, f"{share:g}") for share in (0, 0.5, 1))
    parts.extend(_text(_LEFT - 6, bottom - share * side_y + 4, f"{share:g}", "end") for share in (0, 0.5, 1))
    parts.append(_text(_LEFT + side_x / 2, HEIGHT - 4, across))
    parts.append(_text(_LEFT + 4, _TOP - 6, upward, "start"))
    return _figure(title, parts)


def _axis() -> str:
    bottom = HEIGHT - _BOTTOM
    return f'<line class="rule" x1="{_LEFT}" y1="{bottom}" x2="{WIDTH - 8}" y2="{bottom}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _figure(title: str, parts: Sequence[str]) -> str:
    name = escape(title)
    body = "".join(parts)
    return (
        f'<figure><figcaption>{name}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{name}">{body}</svg></figure>'
    )


_STYLE = """
:root{color-scheme:light dark;--ink:#1c2127;--dim:#5f6b7a;--paper:#fff;--line:#d8dee6;--bar:#2f6fb2;--good:#1a7f4b;
--bad:#c0392b;--warn:#fff4d6}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--dim:#98a4b3;--paper:#15191e;--line:#313944;--bar:#6ba6e0;
--good:#58c48a;--bad:#ef7b6d;--warn:#3a3013}}
body{margin:2rem auto;max-width:72rem;padding:0 1rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}p{color:var(--dim);margin:.3rem 0 1.2rem}
dl{display:flex;flex-wrap:wrap;gap:.4rem 2rem}dt{color:var(--dim);font-size:.85rem}dd{margin:0;font-size:1.3rem;
font-variant-numeric:tabular-nums}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:1rem;margin:1.5rem 0}
figure{margin:0}figcaption{font-weight:600;font-size:.9rem}svg{width:100%;height:auto}
svg text{font-size:11px;fill:var(--dim)}.bar{fill:var(--bar)}.rule{stroke:var(--line)}
.good{fill:var(--good);color:var(--good)}.bad{fill:var(--bad);color:var(--bad)}
.warn{background:var(--warn);padding:.6rem 1rem;border-radius:.4rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-top:1px solid var(--line)}
td.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}ol{margin:0;padding-left:1.4rem}td{overflow-wrap:anywhere}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The page may load nothing and run nothing, whatever the documents it quotes are called."""


def html_report(report: EvalReport, title: str = "Search quality") -> str:
    """The page, as text."""
    name = escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{name}</h1><p>{len(report.rows)} queries, model {escape(report.model)}, "
        f"ranks of distinct documents down to {report.limit}</p>"
        f'{_missing(report)}{_figures(report)}<div class="plots">{_plots(report)}</div>'
        f"<h2>Queries, failures first</h2>{_table(report)}</body></html>\n"
    )


def _missing(report: EvalReport) -> str:
    if not report.missing:
        return ""
    names = "".join(f"<li>{escape(name)}</li>" for name in report.missing)
    return (
        f'<div class="warn"><strong>{len(report.missing)} expected documents are not in the index</strong>; '
        f"their queries count as failed.<ul>{names}</ul></div>"
    )


def _figures(report: EvalReport) -> str:
    figures = {
        "top 1": f"{report.top_1:.3f}",
        "recall@3": f"{report.recall_3:.3f}",
        "recall@5": f"{report.recall_5:.3f}",
        "recall@10": f"{report.recall_10:.3f}",
        "MRR": f"{report.mrr:.3f}",
        "nDCG@10": f"{report.ndcg_10:.3f}",
        "similarity": f"{report.similarity:.3f}",
        "embed p50 / p95": f"{report.embed_p50_ms:.2f} / {report.embed_p95_ms:.2f} ms",
        "search p50 / p95": f"{report.search_p50_ms:.2f} / {report.search_p95_ms:.2f} ms",
    }
    return (
        "<dl>"
        + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items())
        + "</dl>"
    )


def _plots(report: EvalReport) -> str:
    quality = [
        ("top 1", report.top_1),
        ("R@3", report.recall_3),
        ("R@5", report.recall_5),
        ("R@10", report.recall_10),
        ("MRR", report.mrr),
        ("nDCG", report.ndcg_10),
    ]
    ranks = Counter(_rank_label(row.rank) for row in report.rows)
    labels = [*map(str, range(1, 11)), *([_rank_label(11)] if report.limit > 10 else []), "none"]
    counts = [(label, float(ranks.get(label, 0))) for label in labels]
    pairs = [
        (row.wrong.score if row.wrong else 0.0, row.right.score if row.right else 0.0, row.query)
        for row in report.rows
        if row.wrong or row.right
    ]
    return (
        bars("Quality", quality, top=1.0, percent=True)
        + bars("Rank of the first right document", counts, top=max(count for _, count in counts))
        + histogram("Search time", [row.search_ms for row in report.rows], "ms")
        + scatter("Score of the first right against the first wrong", pairs, "first wrong", "first right")
    )


def _rank_label(rank: int | None) -> str:
    return "none" if rank is None else str(rank) if rank <= 10 else "11+"


def _table(report: EvalReport) -> str:
    last = report.limit + 1
    rows = sorted(report.rows, key=lambda row: (-(row.rank or last), row.ndcg_10))
    head = "<tr><th>rank<th>query<th>expected<th>found<th>nDCG@10<th>ms</tr>"
    return f'<div class="wide"><table>{head}{"".join(_row(row) for row in rows)}</table></div>'


def _row(row: EvalRow) -> str:
    shown = row.found[: max(3, row.rank or 3)]
    found = "".join(
        f'<li class="{"good" if item.gain > 0 else ""}"><bdi>{escape(item.path)}</bdi> {item.score:.2f}</li>'
        for item in shown
    )
    note = f"<div>{escape(row.reason)}</div>" if row.reason else ""
    expected = "<br>".join(
        escape(name) + (' <span class="bad">not in the index</span>' if name in row.missing else "")
        for name in row.expected
    )
    return (
        f'<tr><td class="num {"bad" if row.rank is None else ""}">{row.rank or "none"}</td><td>'
        f'<div dir="auto">{isolate_code(row.query, escape)}</div>{note}</td>'
        f"<td>{expected}</td><td><ol>{found}</ol></td>"
        f'<td class="num">{row.ndcg_10:.2f}</td><td class="num">{row.search_ms:.1f}</td></tr>'
    )
