from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.drafting.replies import MOST_CHARS, read_draft, tidy
from adapters.models.chat import Reply, ToolCall
from adapters.models.thinking import without_thinking
from contracts.enums import DraftKind, FaultKind, ResponseFormat
from contracts.ports import Draft
from language.blocks import split_code
from tests.support.examples import examples


def reply(text: str = "", *calls: ToolCall, finish: str = "stop") -> Reply:
    return Reply(text, calls, finish, ())


def search(query: object = "kettle") -> ToolCall:
    return ToolCall("search_kb", json.dumps({"query": query}))


def drafted(text: str) -> Draft:
    draft = read_draft(reply(text), may_search=False)
    assert isinstance(draft, Draft)
    return draft


@pytest.mark.parametrize(
    "text", ["NO_ANSWER", "no_answer", "**NO_ANSWER**", "`NO_ANSWER`", "> NO_ANSWER: the evidence is silent."]
)
def test_a_model_may_say_that_the_evidence_is_silent(text: str) -> None:
    """The word counts in any case and mark-up."""
    assert drafted(text).kind is DraftKind.ABSTENTION


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("QUESTION: Which kettle?", "Which kettle?"),
        ("**QUESTION:** Which kettle?", "Which kettle?"),
        ("Question: Which\tkettle?\nThe one on the stove boils at 100 degrees.", "Which kettle?"),
        ("QUESTION: Какой чайник? Он кипит.", "Какой чайник?"),
    ],
)
def test_a_model_may_ask_back(text: str, question: str) -> None:
    """The question alone is taken: what stands around it would be claims that nobody checks."""
    draft = drafted(text)
    assert (draft.kind, draft.text) == (DraftKind.CLARIFICATION, question)


@pytest.mark.parametrize(
    "text", ["QUESTION:", "QUESTION: **", "QUESTION: The kettle boils.", "QUESTION: " + "x" * 400 + "?"]
)
def test_a_question_that_asks_nothing_is_an_abstention(text: str) -> None:
    """An empty question, none, or one without end is never shown."""
    assert drafted(text).kind is DraftKind.ABSTENTION


@pytest.mark.parametrize("text", ["", "  \n", "<tool_call>{}</tool_call>", 'Hm <tool_call>{"name": "search_kb"}'])
def test_what_is_no_text_for_people_is_no_draft(text: str) -> None:
    """Nothing, and the raw text of a call, are asked for once more."""
    assert not isinstance(read_draft(reply(text), may_search=False), Draft)


def test_a_draft_that_the_limit_cut_is_no_draft() -> None:
    """Half an answer is not judged as a whole one."""
    cut = read_draft(reply("The kettle boils at 10", finish="length"), may_search=True)
    assert not isinstance(cut, Draft)
    assert cut.kind is FaultKind.CUT_SHORT


def test_a_call_is_a_search_only_where_one_was_offered() -> None:
    """Without searches left, a call beside no text is asked for once more, and beside text it is passed over."""
    asked = read_draft(reply("", search()), may_search=True)
    assert isinstance(asked, Draft)
    assert asked.searches == ("kettle",)
    assert not isinstance(read_draft(reply("", search()), may_search=False), Draft)
    answered = read_draft(reply("It boils [1].", search()), may_search=False)
    assert isinstance(answered, Draft)
    assert (answered.text, answered.searches) == ("It boils [1].", ())


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("analyse_user_request", '{"query": "kettle"}'),
        ToolCall("search_kb", "{"),
        ToolCall("search_kb", "null"),
        ToolCall("search_kb", "[]"),
        ToolCall("search_kb", '{"query": ' + "1" * 5_000 + "}"),
        ToolCall("search_kb", "[" * 100_000),
        search(""),
        search(7),
        search(["kettle"]),
    ],
)
def test_a_call_without_a_query_is_no_search(call: ToolCall) -> None:
    """The planning tool, arguments that cannot be read, and queries that are no text ask for nothing."""
    assert not isinstance(read_draft(reply("", call), may_search=True), Draft)


def test_queries_are_few_short_and_different() -> None:
    """At most three, on one line, of at most 300 characters each."""
    calls = [search(q) for q in ("a\n b", "a b", "c" * 1_000, "d", "e")]
    asked = read_draft(reply("", *calls), may_search=True)
    assert isinstance(asked, Draft)
    assert asked.searches == ("a b", "c" * 300, "d")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("NO_ANSWER", DraftKind.ABSTENTION),
        ('{"What to do": ["NO_ANSWER"]}', DraftKind.ABSTENTION),
        ('```json\n{"answer": {"a": "**NO_ANSWER**: nothing"}}\n```', DraftKind.ABSTENTION),
        ("QUESTION: Which kettle?", DraftKind.CLARIFICATION),
        ('{"answer": "QUESTION: Which kettle?"}', DraftKind.CLARIFICATION),
        ('{"answer": ["Write NO_ANSWER [1]."]}', DraftKind.ANSWER),
        ('{"answer": ["It boils', DraftKind.ANSWER),
    ],
)
def test_in_json_a_model_may_abstain_and_ask_back_as_well(text: str, kind: DraftKind) -> None:
    """With the word alone, or as the first string of its object."""
    draft = read_draft(reply(text), may_search=False, response_format=ResponseFormat.JSON)
    assert isinstance(draft, Draft)
    assert draft.kind is kind


# ---------------------------------------------------------------------------------------------------------- citations


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ('{"a": "It boils [1, 2].", "sources": [1, 2]}', '{"a": "It boils [1][2].", "sources": [1, 2]}'),
        ('{"a [1, 2]": ["【1†source】", "`x[1, 2]`"]}', '{"a [1, 2]": ["[1]", "`x[1, 2]`"]}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": "```"}\n ```', '{"a": "```"}'),
        ('```json\n{"a": [1, 2]\n```', '{"a": [1, 2]'),
        ('Here: {"a": "[1, 2]"}', 'Here: {"a": "[1, 2]"}'),
        ('```json\n{"a": 1}\n```\nDone.', '```json\n{"a": 1}\n```\nDone.'),
        ('{"a": "x\\n\\nSources:\\n- [1] b"}', '{"a": "x\\n\\nSources:\\n- [1] b"}'),
    ],
)
def test_of_json_only_strings_and_a_fence_around_it_are_touched(text: str, tidied: str) -> None:
    """Lists of numbers are no citations in brackets, and what is no JSON is left for the Guardian to see."""
    assert tidy(text, ResponseFormat.JSON) == tidied


def test_of_a_hybrid_draft_prose_and_the_strings_of_its_block_are_touched() -> None:
    """Other code stays, and a list of sources of the model's own goes."""
    block = '```py\nx[1, 2]\n```\n\n```json\n{"a": "b 【1】", "c": [1, 2]}\n```'
    assert tidy(f"A [1, 2].\n\n{block}\n\nSources:\n- [1] c", ResponseFormat.HYBRID) == (
        "A [1][2].\n\n" + block.replace("【1】", "[1]")
    )
    assert tidy("A [1, 2].", ResponseFormat.HYBRID) == "A [1][2]."


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("It boils [1, 2].", "It boils [1][2]."),
        ("It boils [1; 2 ,3].", "It boils [1][2][3]."),
        ("It boils 【1†source】.", "It boils [1]."),
        ("It boils 【4:0†source.md】【2】.", "It boils [4][2]."),
        ("It boils [^1].", "It boils [1]."),
        ("See 【1 and whatever else】.", "See 【1 and whatever else】."),
        ("In 2024 [1234, 5678] it was so.", "In 2024 [1234, 5678] it was so."),
        ("`x[1, 2]` and [1, 2]", "`x[1, 2]` and [1][2]"),
        ("```\nx[1, 2]\n```\n[1, 2]", "```\nx[1, 2]\n```\n[1][2]"),
        ("````\n```\nx[1, 2]\n```\nx[1, 2]\n````\n[1, 2]", "````\n```\nx[1, 2]\n```\nx[1, 2]\n````\n[1][2]"),
        (
            "1. Do:\n\n   ```\n   x[1, 2]\n   ```\n\n2. Done [1, 2]",
            "1. Do:\n\n   ```\n   x[1, 2]\n   ```\n\n2. Done [1][2]",
        ),
        ("```\nx[1, 2]", "```\nx[1, 2]"),
        ("A:\n\n    x[1, 2]\n", "A:\n\n    x[1, 2]\n"),
    ],
)
def test_citations_are_written_one_by_one(text: str, tidied: str) -> None:
    """`[n]` each, in prose only: code, however it is marked as code, is left as it is."""
    assert tidy(text) == tidied


@pytest.mark.parametrize(
    "sources",
    [
        "Sources:\n[1] Page 1\n[2] Page 2",
        "## Sources\n\n- [1] Page 1\n- [2] Page 2\n",
        "**References:**\n1. Page 1\n2) Page 2",
        "Источники:\n* Страница 1",
        "Ссылки\n\n[^1]: Page 1",
    ],
)
def test_a_list_of_sources_of_the_models_own_is_left_out(sources: str) -> None:
    """The real one is put there after the check; the model's would be claims without evidence."""
    assert tidy(f"It boils [1].\n\n{sources}") == "It boils [1]."


@pytest.mark.parametrize(
    "text",
    [
        "Sources:\n- Page 1",
        "It boils [1].\n\nSources: the kettle.",
        "It boils.\n\nSources of heat:\n- gas [1]",
        "It boils.\n\nSources:\n- gas [1]\n\nThey differ [2].",
        "It boils [1].\n\nSources:\n",
        "It boils [1].\n\n```\nSources:\n- a\n```",
    ],
)
def test_what_only_looks_like_a_list_of_sources_stays(text: str) -> None:
    """A text of nothing else, a sentence, another heading, a list in the middle: none of them is cut."""
    assert tidy(text) == text


_MARKS = re.compile(r"\[\^?\d{1,3}(?:\s*[,;]\s*\d{1,3})*\]|【\d{1,3}(?:[:†][^【】\n]{0,60})?】")
markdown = st.lists(
    st.sampled_from(
        [
            "boils",
            " ",
            "\n",
            "\n\n",
            "[1]",
            "[1, 2]",
            "【1†source】",
            "【1",
            "[^2]",
            "`",
            "```",
            "~~~",
            "    ",
            "- ",
            "Sources",
            ":",
            "é",
            "[",
            "]",
            "7",
        ]
    )
).map("".join)


@given(text=markdown)
@examples(3)
def test_no_word_is_changed(text: str) -> None:
    """Without its citations, and but for a list of sources at its end, a text is what it was."""
    whole, tidied = _MARKS.sub("", text), _MARKS.sub("", tidy(text))
    assert whole.startswith(tidied)
    assert tidied == whole or "sources" in whole[len(tidied) :].lower()


@given(text=markdown)
@example("```\nSources\n- ")
@examples(3)
def test_no_code_is_changed(text: str) -> None:
    """What is code is the same before and after."""
    tidied = tidy(text)
    assert split_code(tidied)[1::2] == split_code(text)[1 : len(split_code(tidied)) : 2]


HOSTILE = {
    "line breaks": "a" + "\n" * 200_000 + "b",
    "sources without end": "A [1].\nSources:\n" + "-\n" * 100_000 + "x\ny",
    "stars behind a heading": "A.\nSources" + "*" * 200_000 + "x\n- a",
    "fences": "```x\n" * 40_000,
    "half brackets": "【1" * 100_000,
    "lists of numbers": "[1" + ", 1" * 70_000,
    "brackets": "[" * 200_000,
    "marks": "*_> " * 50_000,
    "blanks": "[1" + " " * 200_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_takes_longer_to_read_than_a_moment(name: str) -> None:
    """A model that repeats itself up to its limit, here 200,000 characters, does not hold up the turn."""
    began = time.process_time()
    read_draft(reply(HOSTILE[name]), may_search=True)
    tidy(HOSTILE[name])
    assert time.process_time() - began < 5.0


@given(text=st.text() | markdown, finish=st.sampled_from(["stop", "length", ""]), call=st.booleans())
def test_any_reply_can_be_read(text: str, finish: str, call: bool) -> None:
    """No text makes reading raise, and an answer is never empty."""
    read = read_draft(reply(text, *([search(text)] if call else []), finish=finish), may_search=call)
    if isinstance(read, Draft) and not read.searches:
        assert read.text.strip()


def test_a_draft_without_end_is_not_judged() -> None:
    """Judging takes time: what is longer than any answer is asked for again, shorter."""
    long = Reply("x" * (MOST_CHARS + 1), (), "stop", ())
    assert not isinstance(read_draft(long, may_search=False), Draft)
    assert isinstance(read_draft(Reply("x" * MOST_CHARS, (), "stop", ()), may_search=False), Draft)


@pytest.mark.parametrize(
    "text",
    [
        "[THINK]secret [1][/THINK]Shown [1].",
        "<|channel|>analysis<|message|>secret [1]<|end|><|start|>assistant<|channel|>final<|message|>Shown [1].",
        "◁think▷secret◁/think▷Shown [1].",
        "<seed:think>secret</seed:think>Shown [1].",
        "<reflection>secret</reflection>Shown [1].",
    ],
)
def test_reasoning_is_left_out_however_it_is_marked(text: str) -> None:
    """The marks of Magistral, gpt-oss, Kimi, Seed and others."""
    assert without_thinking(text) == "Shown [1]."


def test_a_text_about_such_marks_is_left_alone() -> None:
    """Between backticks a tag is what is written about."""
    text = "Text between `<think>` and `</think>` is cut out of the reply [1]."
    assert without_thinking(text) == text
