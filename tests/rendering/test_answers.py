"""What the user reads at the end of a turn."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from contracts.enums import Language, ResponseFormat, Source
from contracts.evidence import EvidenceItem
from language.blocks import split_code
from rendering.answers import source_line, verified_answer
from tests.support.turn import passage

TWO = [passage(1), passage(2)]


def page(number: int = 1, **changes: object) -> EvidenceItem:
    return passage(number, **changes)


# ---------------------------------------------------------------------------------------------------- verified_answer


def test_citations_are_renumbered_in_order_of_appearance() -> None:
    """The list of sources has no gaps and stands in the order in which a reader meets them."""
    answer = verified_answer("Two [3]. One [1]. Two again [3].", [page(1), page(2), page(3)], Language.EN)
    assert answer == "Two [1]. One [2]. Two again [1].\n\n**Sources**\n\n- [1] Page 3 (doc:3)\n- [2] Page 1 (doc:1)"


def test_what_is_not_cited_is_not_listed() -> None:
    """A source that was found and not used is no source of the answer; without citations there is no list."""
    assert "Page 2" not in verified_answer("One [1].", TWO, Language.EN)
    assert verified_answer("Hello!", TWO, Language.EN) == "Hello!"


def test_a_row_about_a_section_is_not_the_section() -> None:
    """A graph's row and a document's passage of one place are two sources, each with its kind; two passages are one."""
    place = {"document": "a.md", "title": "A", "heading": "Start"}
    evidence = [page(1, **place), page(2, **place), page(3, source=Source.NEO4J, **place)]
    answer = verified_answer("One [1]. Two [2]. Three [3].", evidence, Language.RU)
    assert answer.startswith("One [1]. Two [1]. Three [2].")
    assert answer.endswith("- [1] A — Start (a.md)\n- [2] A — Start (a.md), граф")


@pytest.mark.parametrize(
    "code", ["`list[1]`", "```\na[2]\n```", "~~~py\na[2]\n~~~", "``a ` [2]``", "1. x\n\n   ```\n   a[2]\n   ```"]
)
def test_code_is_left_alone(code: str) -> None:
    """An index inside code is no citation, and code comes byte for byte."""
    answer = verified_answer(f"See [2].\n\n{code}\n\nEnd [1].", TWO, Language.EN)
    assert code in answer
    assert "See [1]." in answer
    assert "End [2]." in answer


def test_a_number_that_is_no_evidence_stays_as_it_is() -> None:
    """Renumbering invents nothing: `[9]` of two passages is left for the reader to doubt."""
    assert verified_answer("One [9] [2].", TWO, Language.EN).startswith("One [9] [1].")


@pytest.mark.parametrize(
    ("language", "written_in", "note"),
    [
        (Language.EN, Language.RU, "Russian"),
        (Language.RU, Language.EN, "по-английски"),
        (Language.EN, Language.EN, ""),
        (Language.RU, Language.RU, ""),
        (Language.EN, None, ""),
    ],
)
def test_an_answer_over_documents_in_the_other_language_says_so(
    language: Language, written_in: Language | None, note: str
) -> None:
    """The note comes first, only for documents that are cited (regression: it once raised)."""
    there = page(1, language=written_in, snippet=PROSE[written_in or Language.EN])
    evidence = [there, page(2, language=language, snippet=PROSE[language])]
    answer = verified_answer("One [1].", evidence, language)
    assert answer.startswith("One [1]." if not note else "_")
    assert note in answer.split("\n\n")[0]
    assert verified_answer("One [2].", evidence, language).startswith("One [1].")


PROSE = {
    Language.EN: "The kettle boils at 100 degrees when its lid is closed.",
    Language.RU: "Чайник кипит при 100 градусах, когда его крышка закрыта.",
}


@pytest.mark.parametrize(
    ("page_in", "snippet", "noted"),
    [
        (Language.RU, PROSE[Language.EN], False),
        (Language.EN, PROSE[Language.RU], True),
        (Language.RU, "Задайте `KETTLE_MAX_TEMPERATURE`.", True),
        (Language.RU, "KETTLE_A", True),
        (Language.RU, "```\nset the kettle to its own highest degree now\n```", True),
        (Language.RU, "Параметры Kettle Pro Max Deluxe Home Edition: boil, keep warm, descale", True),
        (Language.EN, "The command «Включить чайник» of the menu starts the kettle at once.", False),
    ],
)
def test_a_page_in_both_languages_is_quoted_in_the_one_of_its_passage(
    page_in: Language, snippet: str, *, noted: bool
) -> None:
    """The prose of the cited passage decides where it is clear; where it is not, the page's language does."""
    answer = verified_answer("One [1].", [page(1, language=page_in, snippet=snippet)], Language.EN)
    assert answer.startswith("_The documents say this in Russian") is noted


def test_a_source_is_named_by_title_heading_and_place() -> None:
    """Title and heading once each, and the address, or the file where there is no address to be shown."""
    assert source_line(1, page(title="Install", heading="Linux"), Language.EN) == "[1] Install — Linux (doc:1)"
    assert source_line(1, page(title="Install", heading="Install"), Language.EN) == "[1] Install (doc:1)"
    assert (
        source_line(1, page(title="Install", heading="Install › Linux"), Language.EN) == "[1] Install — Linux (doc:1)"
    )
    numbered = page(title="2. Install", heading="Install › Linux")
    assert source_line(1, numbered, Language.EN) == r"[1] 2\. Install — Linux (doc:1)"
    other = page(title="How to Install", heading="Install")
    assert source_line(1, other, Language.EN) == "[1] How to Install — Install (doc:1)"
    assert source_line(1, page(title="Node", heading="Node.js"), Language.EN) == "[1] Node — Node.js (doc:1)"
    assert source_line(1, page(title="e-mail", heading="mail"), Language.EN) == "[1] e-mail — mail (doc:1)"
    longer = page(title="Install", heading="Installation › Linux")
    assert source_line(1, longer, Language.EN) == "[1] Install — Installation › Linux (doc:1)"
    assert source_line(2, page(title=""), Language.EN) == "[2] doc:1#0 (doc:1)"
    item = page(url="https://kb.comindware.ru/1")
    assert "https://kb.comindware.ru/1" in source_line(1, item, Language.EN, ["kb.comindware.ru"])
    assert "kb.comindware.ru" not in source_line(1, item, Language.EN, ["example.test"])
    assert "knowledge/en/x.md" in source_line(1, page(url="knowledge/en/x.md"), Language.EN)


@pytest.mark.parametrize(
    ("source", "language", "kind"),
    [
        (Source.DOC, Language.EN, ""),
        (Source.POLICY, Language.EN, ", policy"),
        (Source.DB, Language.EN, ", database"),
        (Source.NEO4J, Language.EN, ", graph"),
        (Source.POLICY, Language.RU, ", регламент"),
        (Source.DB, Language.RU, ", база данных"),
    ],
)
def test_a_source_that_is_no_document_is_marked_as_what_it_is(source: Source, language: Language, kind: str) -> None:
    """Who reads the list of sources sees which of them is a policy, and which a row of a database or a graph."""
    assert source_line(1, page(title="Install").model_copy(update={"source": source}), language) == (
        f"[1] Install (doc:1){kind}"
    )


def test_a_source_of_a_version_says_which() -> None:
    """Who reads the list of sources sees for which version of the product a document is."""
    item = page(title="Install").model_copy(update={"version": "5.0", "source": Source.POLICY})
    assert source_line(1, item, Language.EN) == "[1] Install (doc:1), version 5.0, policy"
    assert "версия 5.0" in source_line(1, item, Language.RU)


@pytest.mark.parametrize("nasty", ["# T", "[x](http://evil.ru)", "<img src=x>", "a\nb", "{0}", "**b**", "- x"])
def test_a_title_is_words(nasty: str) -> None:
    """Mark-up in a document's title or heading does not become mark-up of the answer."""
    line = source_line(1, page(title=nasty, heading=f"H {nasty}"), Language.EN)
    assert len(line.splitlines()) == 1
    assert not re.search(r"(?<!\\)<img|(?<!\\)\]\(|(?<!\\)\*\*", line.removeprefix("[1] "))


def test_an_address_cannot_break_out_of_its_line() -> None:
    """A front matter's address with a line break or mark-up stays one line of words."""
    line = source_line(1, page(url="https://a.ru/)\n\n# Hacked <img src=x>"), Language.EN)
    assert len(line.splitlines()) == 1
    assert not re.search(r"(?<!\\)<img", line)


@pytest.mark.parametrize(
    ("draft", "shown"),
    [
        ("A <img src=x> [1].", "A &lt;img src=x> [1]."),
        ("A <script>x</script> [1].", "A &lt;script>x&lt;/script> [1]."),
        ("A <!-- [1] --> [1].", "A &lt;!-- --> [1]."),
        ("A <b\nid=x> [1].", "A &lt;b\nid=x> [1]."),
        ('A <img alt="`" src=x alt="`"> [1].', 'A &lt;img alt="`" src=x alt="`"> [1].'),
        ("<!-- x -->\n    <img src=x>\n\nA [1].", "&lt;!-- x -->\n    &lt;img src=x>\n\nA [1]."),
        ("\\\\<img src=x> [1].", "\\\\&lt;img src=x> [1]."),
        ("\\<img src=x> and 1 < 2 <https://example.com> [1].", "\\<img src=x> and 1 < 2 <https://example.com> [1]."),
        ('<https://example.com"><img src=x>> [1].', '&lt;https://example.com">&lt;img src=x>> [1].'),
        ("`<img>` [1]\n\n```html\n<img src=x>\n```", "`<img>` [1]\n\n```html\n<img src=x>\n```"),
        ("A \u202eb\u202c \u2066c\u2069 [1].", "A b c [1]."),
        ("A <\u202eimg src=x> [1].", "A &lt;img src=x> [1]."),
    ],
)
def test_no_html_lives_in_an_answer(draft: str, shown: str) -> None:
    """Tags and comments outside of code are text, and nothing turns the direction of reading (regression)."""
    answer = verified_answer(draft, [page(1, title="T\u202e")], Language.EN)
    assert answer == f"{shown}\n\n**Sources**\n\n- [1] T (doc:1)"


def in_json(draft: str, evidence: list[EvidenceItem], language: Language = Language.EN) -> Any:
    """Return what a program reads of an answer in JSON."""
    return json.loads(verified_answer(draft, evidence, language, ["kb.comindware.ru"], ResponseFormat.JSON))


def test_an_answer_in_json_is_json_with_its_sources() -> None:
    """Citations are renumbered in strings and in lists of sources; each source is an object under one key."""
    draft = '{"Steps": ["Two [3]. `a[1]`", {"code": "ls", "sources": [3, 1]}], "n": [9], "odd": "One [\\u0031]."}'
    evidence = [
        page(1, url="https://kb.comindware.ru/1", title="T", heading="T › H *x*"),
        page(2),
        page(3, language=Language.RU, source=Source.POLICY, version="5.0", url="https://evil.ru/"),
    ]
    assert in_json(draft, evidence) == {
        "Steps": ["Two [1]. `a[1]`", {"code": "ls", "sources": [1, 2]}],
        "n": [9],
        "odd": "One [2].",
        "cited_sources": [
            {
                "number": 1,
                "title": "Page 3",
                "url": "doc:3",
                "source": "policy",
                "version": "5.0",
                "language": "ru",
            },
            {
                "number": 2,
                "title": "T — H *x*",
                "url": "https://kb.comindware.ru/1",
                "source": "doc",
                "version": "",
                "language": "",
            },
        ],
    }


@pytest.mark.parametrize("draft", ["{}", " {\n}\n", '{"a": 1}', '{\n\t"a": {}}', '{"a":"}"  }'])
def test_json_stays_json_however_it_is_laid_out(draft: str) -> None:
    """Where nothing is cited, the list of sources is empty."""
    assert in_json(draft, TWO) == {**json.loads(draft), "cited_sources": []}


def test_json_on_lines_stays_on_lines() -> None:
    """What a person can read stays so."""
    answer = verified_answer('{\n  "a": "b [2]"\n}', TWO, Language.EN, response_format=ResponseFormat.JSON)
    assert answer.startswith('{\n  "a": "b [1]",\n  "cited_sources": [\n    {\n      "number": 1,\n')


@given(
    said=st.text(st.characters(exclude_categories=["Cs"])),
    title=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    indent=st.sampled_from([None, 2]),
)
def test_any_words_survive_in_json(said: str, title: str, indent: int | None) -> None:
    """HTML, line ends, quotation marks and marks that turn the text mean themselves, and live in no reader's page."""
    draft = json.dumps({"a": [said + "<img src=x>\u202e", "One [1]."]}, ensure_ascii=False, indent=indent)
    evidence = [page(1, title=title + "<script>\u202e")]
    answer = verified_answer(draft, evidence, Language.EN, response_format=ResponseFormat.JSON)
    read = json.loads(answer)
    assert read["a"][1] == "One [1]."
    assert read["a"][0].endswith("<img src=x>\u202e")
    assert read["cited_sources"][0]["title"].endswith("<script>\u202e")
    assert not re.search("<[A-Za-z/!?]|\u202e", answer)


def test_what_should_be_json_and_is_none_is_written_as_markdown() -> None:
    """On FAST nobody checks the format, and a turn does not break over it."""
    for form in (ResponseFormat.JSON, ResponseFormat.HYBRID):
        answer = verified_answer("One <b> [2].", TWO, Language.EN, response_format=form)
        assert answer == "One &lt;b> [1].\n\n**Sources**\n\n- [1] Page 2 (doc:2)"


def test_the_block_of_a_hybrid_answer_has_the_numbers_of_its_list() -> None:
    """Strings and lists of sources in the block are renumbered with the prose; other code stays byte for byte."""
    draft = (
        'Two [2].\n\n```py\na[2]\n```\n```json\n{"a": "One [1]<b>",  "b": [2], "sources": [2]}\n```\n'
        "~~~\nb[1]\n~~~\n\nEnd [1]."
    )
    answer = verified_answer(draft, TWO, Language.EN, response_format=ResponseFormat.HYBRID)
    assert answer == (
        'Two [1].\n\n```py\na[2]\n```\n```json\n{"a": "One [2]<b>",  "b": [2], "sources": [1]}\n```\n'
        "~~~\nb[1]\n~~~\n\nEnd [2].\n\n**Sources**\n\n- [1] Page 2 (doc:2)\n- [2] Page 1 (doc:1)"
    )


html = st.lists(
    st.sampled_from(
        [*"a \n`\\\"'/>", "<", "<!--", "-->", "<img src=x>", "<div>", "</p>", "```\n", "\n    ", "\n\n", "> ", "- "]
    ),
    max_size=30,
).map("".join)


@given(draft=html)
def test_no_reader_of_markdown_finds_html_in_an_answer(draft: str) -> None:
    """Whatever the mark-up around it, no token of an answer is HTML."""
    found = MarkdownIt("commonmark").enable("table").parse(verified_answer(draft, TWO, Language.EN))
    assert not [t for token in found for t in (token, *(token.children or ())) if t.type.startswith("html")]


markdown = st.lists(
    st.sampled_from([*"ab .\n`*_-", "[1]", "[2]", "[3]", "`a[1]`", "\n\n", "```\n[2]\n```\n", "\n- "]), max_size=30
).map("".join)


@given(draft=markdown)
@example(draft="[3]\n[3]")
def test_renumbering_keeps_the_text_and_numbers_without_gaps(draft: str) -> None:
    """But for its citations the draft is as it was; their numbers are 1, 2, ... in order of their first appearance."""
    answer = verified_answer(draft, TWO, Language.EN).split("\n\n**Sources**")[0]
    same = re.compile(r"\[[12]\]")
    assert "".join(same.sub("", answer).split()) == "".join(same.sub("", draft).split())
    prose, code = split_code(answer)[::2], split_code(answer)[1::2]
    cited = [int(n) for part in prose for n in re.findall(r"\[([12])\]", part)]
    assert list(dict.fromkeys(cited)) == list(range(1, len(set(cited)) + 1))
    assert code == split_code(draft.strip())[1::2]


# ------------------------------------------------------------------------------------------------------------ see also


def test_further_pages_on_what_was_asked_are_named() -> None:
    """Two at most, with title and place and without a claim, before the sources; a page that is cited is none of them."""
    evidence = [page(n, title=f"Deleting an account {n}", url=f"a/{n}.md") for n in range(1, 5)]
    answer = verified_answer("Push it [1].", evidence, Language.EN, asked=frozenset(("delet", "account")))
    body, _, listed = answer.partition("\n\n**See also**\n\n")
    assert body == "Push it [1]."
    assert listed == (
        "- Deleting an account 2 (a/2.md)\n- Deleting an account 3 (a/3.md)\n\n"
        "**Sources**\n\n- [1] Deleting an account 1 (a/1.md)"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Kettles"},
        {"confidence": 0.5},
        {"language": Language.RU, "snippet": "Нажмите."},
        {"document": "doc:1"},
        {"found": "3"},
    ],
)
def test_a_page_that_does_not_fit_is_not_named(changes: dict[str, Any]) -> None:
    """One about something else, less sure, in the other language, cited already, or a row of a database."""
    more = {"title": "Deleting an account", "document": "doc:2", **changes}
    evidence = [page(1, title="Deleting accounts", document="doc:1"), page(2, **more)]
    answer = verified_answer("Push it [1].", evidence, Language.EN, asked=frozenset(("delet", "account")))
    assert "See also" not in answer


def test_nothing_is_named_where_nobody_asked_or_programs_read() -> None:
    """Pages that are shown instead of an answer, and answers in JSON, have no such list."""
    evidence = [page(1, title="Deleting accounts"), page(2, title="Deleting an account")]
    assert "See also" not in verified_answer("Push it [1].", evidence, Language.EN)
    asked = frozenset(("delet", "account"))
    said = verified_answer('{"a": "Push it [1]."}', evidence, Language.EN, (), ResponseFormat.JSON, asked=asked)
    assert "See also" not in said


def test_a_relative_link_is_resolved_by_the_page_that_is_cited_behind_it() -> None:
    """Where that page has an address in an allowed domain, a reader can follow it; elsewhere its words stay."""
    evidence = [page(1, url="https://kb.firma.ru/a/one"), page(2, url="a/two.md")]
    draft = "See [this](../b#c) [1], [that](three.md) [2] and `[code](x)`. Go [on](#d) [1].\n\n![p](q.png) [1]"
    answer = verified_answer(draft, evidence, Language.EN, ("kb.firma.ru",))
    assert answer.startswith(
        "See [this](https://kb.firma.ru/b#c) [1], that [2] and `[code](x)`. "
        "Go [on](https://kb.firma.ru/a/one#d) [1].\n\n![p](q.png) [1]"
    )
    assert verified_answer(draft, evidence, Language.EN).startswith("See this [1], that [2]")
