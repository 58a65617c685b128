from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

import assistant
from assistant import aask, aask_structured, asearch, ask, ask_structured, search, stream
from contracts.errors import GuardianError, InputError, NoIndex, UnknownProfile
from contracts.evidence import EvidenceItem
from contracts.result import StructuredAgentResult
from tests.support.cli_helpers import ANSWER, QUESTION, Desk


@pytest.fixture
def served(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk that this process is a deployment of, as its environment says."""
    for name, value in desk.environment.items():
        if name.startswith("GUARDIAN_"):
            monkeypatch.setenv(name, value)
    return desk


def test_the_package_offers_four_verbs_their_async_twins_and_what_stays_open() -> None:
    """These names, each of which there is, and an error for any other."""
    verbs = {"ask", "ask_structured", "search", "stream"}
    twins = {f"a{verb}" for verb in verbs}
    assert set(assistant.__all__) == verbs | twins | {"open_assistant", "open_graph", "Assistant", "TurnEvent"}
    assert all(getattr(assistant, name) is not None for name in assistant.__all__)
    with pytest.raises(AttributeError, match="answer"):
        getattr(assistant, "answer")  # noqa: B009  # a plain name would be the type checker's error


def test_importing_the_package_imports_nothing_heavy(tmp_path: Any) -> None:
    """`import assistant` is free; the first call pays."""
    code = "import assistant, sys; print([m for m in ('langgraph', 'pydantic', 'tantivy') if m in sys.modules])"
    environment = Desk(tmp_path, tmp_path).environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[]\n"


def test_ask_returns_what_the_user_is_to_see(served: Desk) -> None:
    """A plain string: the answer with its sources, the same that the structured result carries."""
    answer = ask(QUESTION)
    assert ANSWER in answer
    assert ask_structured(QUESTION).answer_text == answer


async def test_the_async_twins_do_the_same(served: Desk) -> None:
    """Inside a loop, each of the three."""
    assert ANSWER in await aask(QUESTION)
    assert (await aask_structured(QUESTION)).outcome == "answered"
    assert (await asearch("restore the catalogue"))[0].title == "Restoring a backup"


def test_search_returns_items_best_first(served: Desk) -> None:
    """Evidence items, as many as asked for, documents and policies in one ranking."""
    found = search("fine for an overdue book", top_k=3)
    assert all(isinstance(item, EvidenceItem) for item in found)
    assert len(found) <= 3
    assert found[0].source == "policy"
    assert [item.confidence for item in found] == sorted((item.confidence for item in found), reverse=True)


def test_the_structured_result_names_its_conversation_and_its_turn(served: Desk) -> None:
    """Given ids come back; where none are given, both are made up and can be used to go on."""
    named = ask_structured("It does not work", thread="t", turn_id="one")
    assert (named.thread_id, named.turn_id) == ("t", "one")
    first = ask_structured("It does not work")
    second = ask_structured("I mean restoring the catalogue from a backup", thread=first.thread_id)
    assert (first.outcome, second.outcome) == ("clarification", "answered")
    assert second.thread_id == first.thread_id
    assert second.turn_id != first.turn_id


def test_the_same_turn_id_gives_the_same_answer_without_running_again(served: Desk) -> None:
    """Not a node begins, and the result is equal to the last figure; other words under the id are an error."""
    seen: list[str] = []
    options: dict[str, Any] = {
        "thread": "t",
        "turn_id": "one",
        "on_event": lambda event: seen.append(event.kind),
    }
    first = ask_structured(QUESTION, **options)
    assert "node_started" in seen
    seen.clear()
    assert ask_structured(QUESTION, **options) == first
    assert seen == ["turn_started", "turn_ended"]
    with pytest.raises(InputError, match="another message"):
        ask_structured("Something else?", **options)


def test_the_trace_of_the_queries_can_be_left_out(served: Desk) -> None:
    """`include_per_query_trace=False` drops what each query brought, and nothing else."""
    full = ask_structured(QUESTION, thread="t", turn_id="one")
    lean = ask_structured(QUESTION, thread="t", turn_id="one", include_per_query_trace=False)
    assert full.per_query_results
    assert lean.per_query_results == []
    assert lean.model_copy(update={"per_query_results": full.per_query_results}) == full


@pytest.mark.parametrize("verb", [ask, ask_structured, search, stream])
async def test_a_sync_verb_inside_a_running_loop_says_what_to_do(verb: Any, served: Desk) -> None:
    """It names the async twins instead of blocking the loop; no coroutine is left behind."""
    with pytest.raises(GuardianError) as caught:
        verb(QUESTION)
    assert "event loop" in caught.value.message
    assert all(name in caught.value.way_out for name in ("aask", "aask_structured", "asearch", "astream"))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"settings": {"no_such_setting": 1}}, "no_such_setting"),
        ({"settings": {"top_k": 0}}, "top_k"),
        ({"settings": {"spam_threshold": 1.5}}, "spam_threshold"),
        ({"settings": {"role": "nobody"}}, "nobody"),
        ({"language": "de"}, "language"),
        ({"language": "ru", "settings": {"language": "en"}}, "Two languages"),
        ({"thread": ""}, "0 characters"),
        ({"thread": "a\ud800"}, "cannot be shown"),
        ({"turn_id": "a\nb"}, "cannot be shown"),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(options: dict[str, Any], named: str, served: Desk) -> None:
    """An InputError with a way out, and no turn on record."""
    with pytest.raises(InputError) as caught:
        ask(QUESTION, **options)
    assert named in caught.value.message
    assert caught.value.way_out
    assert served.here("threads", "list", "--json").json == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"top_k": 0}, "passages"),
        ({"top_k": -1}, "passages"),
        ({"top_k": "3"}, "'3' passages"),
        ({"language": "de"}, "'de'"),
    ],
    ids=str,
)
async def test_a_search_that_cannot_be_is_refused(options: dict[str, Any], named: str, served: Desk) -> None:
    """At least one passage, a whole number of them, and a language that there is; of an open assistant, too."""
    async with assistant.open_assistant() as opened:
        for asked in (asearch, opened.search):
            with pytest.raises(InputError, match=named) as caught:
                await asked("backup", **options)
            assert caught.value.way_out


async def test_the_language_may_stand_among_the_settings(served: Desk) -> None:
    """As a setting of the run like any other, for functions and for an open assistant."""
    settings = {"language": "ru"}
    assert (await aask_structured(QUESTION, settings=settings)).language == "ru"
    async with assistant.open_assistant() as opened:
        assert (await opened.ask_structured(QUESTION, settings=settings)).language == "ru"
        with pytest.raises(InputError, match="Two languages"):
            await opened.ask(QUESTION, language="en", settings=settings)


def test_run_settings_hold_for_one_run(served: Desk) -> None:
    """A setting of one call changes that turn alone."""
    strict = ask_structured(QUESTION, settings={"evidence_threshold": 0.999, "max_retry": 0})
    assert strict.outcome != "answered"
    assert strict.diagnostics.retries == 0
    assert ask_structured(QUESTION).outcome == "answered"


@pytest.mark.parametrize(
    "message", ["\ud800 " + QUESTION, QUESTION + " \udcff", QUESTION[:10] + "\u200b" + QUESTION[10:]], ids=ascii
)
def test_a_message_with_lone_surrogates_can_be_asked(message: str, served: Desk) -> None:
    """They are replaced before anything is stored; the rest is answered, and the transcript can be read."""
    result = ask_structured(message, thread="t")
    assert ANSWER in result.answer_text
    assert StructuredAgentResult.model_validate_json(result.model_dump_json()) == result
    result.question.encode()
    assert ANSWER in served.here("threads", "show", "t").out


def test_without_an_index_the_error_says_how_to_make_one(empty: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """NoIndex, for asking and for searching."""
    monkeypatch.setenv("GUARDIAN_DATA_DIR", str(empty.data))
    for verb in (ask, search):
        with pytest.raises(NoIndex) as caught:
            verb(QUESTION, profile=str(empty.profile))
        assert "guardian index" in caught.value.way_out


def test_the_profile_can_be_named_in_the_call(served: Desk) -> None:
    """It stands above the environment."""
    with pytest.raises(UnknownProfile):
        ask(QUESTION, profile="handbok")


async def test_many_questions_at_once_are_all_answered(served: Desk) -> None:
    """Conversations do not wait for each other, and messages of one conversation come one after the other."""
    apart = [aask_structured(QUESTION, thread=f"t{number}") for number in range(4)]
    together = [aask_structured(QUESTION, thread="same", turn_id=f"m{number}") for number in range(4)]
    results = await asyncio.gather(*apart, *together)
    assert [result.outcome for result in results] == ["answered"] * 8
    turns = served.data / "shelf" / "threads.db"
    assert turns.is_file()
    assert len({result.turn_id for result in results}) == 8
