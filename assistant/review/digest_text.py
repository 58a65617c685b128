"""A digest as Markdown, and as one page of HTML with its plots in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from assistant.review.digest import Digest, PageUse, Topic
from assistant.turns.progress import money
from rendering.columns import flat
from rendering.texts import inline

Words = Mapping[str, str]
_SHARES: Final = (
    "answered",
    "pages_shown",
    "clarification",
    "handed_off",
    "declined",
    "refused",
    "error",
    "unfinished",
)
_BAR: Final = 22
"""Height of a bar with its gap, in pixels."""
_LABEL: Final = 190
_WIDTH: Final = 640
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE: Final = """
:root { --text: #1c2430; --dim: #5b6675; --page: #f7f8fa; --card: #fff; --line: #dfe4ea; --bar: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --text: #e6eaf0; --dim: #a3aebd; --page: #14181f; --card: #1c222b; --line: #323b48; --bar: #86b3f7; } }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 28px 20px; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 14px 18px; margin: 0 0 14px; overflow-x: auto; }
h1 { font-size: 24px; } h2 { font-size: 17px; margin: 0 0 8px; } .dim { color: var(--dim); }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; } th, td { text-align: left; padding: 4px 8px; border-bottom: 1px solid var(--line); vertical-align: top; }
th { overflow-wrap: normal; }
svg { width: 100%; min-width: 520px; height: auto; } svg text { fill: var(--text); font-size: 13px; } svg rect { fill: var(--bar); }
"""


def digest_markdown(digest: Digest, say: Words) -> str:
    """Return a digest as Markdown."""
    parts = [f"# {say['report_title']}", _period(digest, say)]
    if not digest.turns:
        return "\n\n".join([*parts, say["report_nothing"]]) + "\n"
    parts += [_volumes(digest, say), f"## {say['report_ends']}", _ends_table(digest, say)]
    if digest.costs:
        sums = ", ".join(money(sum(days.values()), currency) for currency, days in digest.costs.items())
        parts += [f"## {say['report_costs']}: {sums}", _list_costs(digest)]
    parts += [f"## {say['report_gaps']}", _bullets([inline(gap_line(gap, say)) for gap in digest.gaps], say)]
    parts += [f"## {say['report_topics']}", _grouped(digest, say), _topics_table(digest.topics, say)]
    parts += [f"## {say['report_cited']}", _pages_table(digest.cited, say)]
    parts += [f"## {say['report_down']}", _pages_table(digest.down_rated, say)]
    return "\n\n".join(parts) + "\n"


def digest_html(digest: Digest, say: Words, language: str) -> str:
    """Return a digest as a page that loads nothing from anywhere."""
    sections = [f"<section><p>{escape(_volumes(digest, say) if digest.turns else say['report_nothing'])}</p></section>"]
    if digest.turns:
        shares = [(_outcome(name, say), digest.share(name), _count(digest, name)) for name in _ends(digest)]
        most = max(digest.days.values())
        days = [(day, count / most, str(count)) for day, count in digest.days.items()]
        gaps = "".join(f"<li>{escape(gap_line(gap, say))}</li>" for gap in digest.gaps)
        sections += [
            _section(say["report_ends"], bars(shares, say["report_ends"])),
            _section(say["report_days"], bars(days, say["report_days"])),
            *_cost_sections(digest, say),
            _section(say["report_gaps"], f"<ul>{gaps}</ul>" if gaps else f"<p>{escape(say['report_none'])}</p>"),
            _section(
                say["report_topics"],
                f'<p class="dim">{escape(_grouped(digest, say))}</p>{_html_table(_topic_rows(digest.topics, say), say)}',
            ),
            _section(say["report_cited"], _html_table(_page_rows(digest.cited, say), say)),
            _section(say["report_down"], _html_table(_page_rows(digest.down_rated, say), say)),
        ]
    title = escape(say["report_title"])
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>"
        f'<p class="dim">{escape(_period(digest, say))}</p>{"".join(sections)}</main></body></html>\n'
    )


def _cost_sections(digest: Digest, say: Words) -> list[str]:
    """Return a section for each currency, with what each day cost."""
    found: list[str] = []
    for currency, of_days in digest.costs.items():
        most = max(of_days.values()) or 1.0
        rows = [(day, amount / most, money(amount, currency)) for day, amount in of_days.items()]
        title = f"{say['report_costs']}: {money(sum(of_days.values()), currency)}"
        found.append(_section(title, bars(rows, title)))
    return found


def bars(rows: Sequence[tuple[str, float, str]], title: str) -> str:
    """Return horizontal bars as SVG.

    Args:
        rows: For each bar its label, its length from 0 to 1, and the text behind it.
        title: For screen readers.
    """
    room = _WIDTH - _LABEL - 110
    drawn = "".join(
        f'<text x="{_LABEL - 8}" y="{place * _BAR + 15}" text-anchor="end">{escape(label)}</text>'
        f'<rect x="{_LABEL}" y="{place * _BAR + 3}" width="{max(1.0, room * length):.1f}" height="{_BAR - 6}" rx="3"/>'
        f'<text x="{_LABEL + max(1.0, room * length) + 8:.1f}" y="{place * _BAR + 15}">{escape(text)}</text>'
        for place, (label, length, text) in enumerate(rows)
    )
    return f'<svg viewBox="0 0 {_WIDTH} {len(rows) * _BAR + 4}" role="img" aria-label="{escape(title)}">{drawn}</svg>'


def _list_costs(digest: Digest) -> str:
    rows = [(day, money(amount, currency)) for currency, days in digest.costs.items() for day, amount in days.items()]
    return "\n".join(f"- {day}: {amount}" for day, amount in rows)


def gap_line(gap: Topic, say: Words) -> str:
    """Return a gap in one line: how many questions about what, how many without an answer, and the pages there are."""
    pages = say["report_pages"].format(pages=", ".join(map(flat, gap.pages))) if gap.pages else say["report_no_page"]
    return say["report_gap"].format(count=gap.count, name=flat(gap.name), unanswered=gap.unanswered, pages=pages)


def _period(digest: Digest, say: Words) -> str:
    until = digest.until[:16].replace("T", " ") if digest.until else say["report_now"]
    return say["report_period"].format(since=digest.since[:16].replace("T", " "), until=until)


def _volumes(digest: Digest, say: Words) -> str:
    return say["report_volumes"].format(
        turns=digest.turns,
        conversations=digest.conversations,
        callers=digest.callers,
        good=digest.good,
        bad=digest.bad,
    )


def _grouped(digest: Digest, say: Words) -> str:
    said = say[f"report_by_{digest.by}"].format(count=digest.compared)
    return f"{said} {flat(digest.why)}".strip()


def _ends(digest: Digest) -> list[str]:
    return [name for name in _SHARES if digest.outcomes.get(name)]


def _outcome(name: str, say: Words) -> str:
    return say["review_unfinished" if name == "unfinished" else f"outcome_{name}"]


def _count(digest: Digest, name: str) -> str:
    return f"{digest.outcomes[name]} ({digest.share(name):.0%})"


def _ends_table(digest: Digest, say: Words) -> str:
    rows = [(_outcome(name, say), str(digest.outcomes[name]), f"{digest.share(name):.0%}") for name in _ends(digest)]
    return _table((say["report_end"], say["report_count"], say["report_share"]), rows)


def _topic_rows(topics: Sequence[Topic], say: Words) -> tuple[Sequence[str], list[Sequence[str]]]:
    heads = (say["report_topic"], say["report_count"], say["report_unanswered"], say["report_examples"])
    return heads, [
        (topic.name, str(topic.count), str(topic.unanswered), " / ".join(topic.examples)) for topic in topics
    ]


def _page_rows(pages: Sequence[PageUse], say: Words) -> tuple[Sequence[str], list[Sequence[str]]]:
    heads = (say["report_page"], say["report_answers"], say["review_rating_down"])
    return heads, [(use.page, str(use.cited), str(use.down)) for use in pages]


def _topics_table(topics: Sequence[Topic], say: Words) -> str:
    heads, rows = _topic_rows(topics, say)
    return _table(heads, rows) if rows else say["report_none"]


def _pages_table(pages: Sequence[PageUse], say: Words) -> str:
    heads, rows = _page_rows(pages, say)
    return _table(heads, rows) if rows else say["report_none"]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[inline(flat(cell)).replace("|", "\\|") for cell in row] for row in rows]
    lines = [heads, ["---"] * len(heads), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _bullets(lines: Sequence[str], say: Words) -> str:
    return "\n".join(f"- {line}" for line in lines) or say["report_none"]


def _html_table(rows: tuple[Sequence[str], list[Sequence[str]]], say: Words) -> str:
    heads, lines = rows
    if not lines:
        return f"<p>{escape(say['report_none'])}</p>"
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(flat(cell))}</td>' for cell in line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{inside}</section>"
