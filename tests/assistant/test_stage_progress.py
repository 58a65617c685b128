"""What LangGraph's own clients get of a running turn in the stream mode `custom`: a stage and its phrase, no more."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from assistant.studio.progress import stage_progress
from assistant.turns.views import Stage
from contracts.context import Context
from contracts.enums import Language
from contracts.profile import Profile
from tests.support.turn import PROFILE

TELL = stage_progress(PROFILE)


def stage_text(node: str, context: Context | None = None, **state: Any) -> str:
    """Return the phrase of a node that begins."""
    event = TELL(node, state, context or Context())
    assert event is not None
    assert set(event) == {"progress"}
    assert set(event["progress"]) == {"stage", "text"}
    return event["progress"]["text"]


def test_stages_are_told_and_other_nodes_are_not() -> None:
    """The nodes that a user is told of on the chat page; a retry is told when its search begins."""
    question = {"language": "en", "text": "SECRET"}
    assert {stage: stage_text(stage, question=question) for stage in Stage if stage is not Stage.RETRYING} == {
        "moderation": "Checking the message",
        "sgr_plan": "Understanding the question",
        "retrieve": "Searching the documents",
        "draft": "Writing an answer",
        "guardian_verify": "Checking the answer",
    }
    assert stage_text("retrieve", question=question, retry_count=1) == "Trying once more"
    for node in ("retry_bump", "inject_synthetic", "finalize", "safe_exit"):
        assert TELL(node, {"question": question}, Context()) is None


def test_phrases_are_in_the_language_of_the_question() -> None:
    """Before it is known, in that of the newest words, or the one that the run's settings name."""
    assert stage_text("draft", question={"language": "ru"}) == "Пишу ответ"
    assert stage_text("moderation", messages=[HumanMessage("Где лежат копии?")]) == "Проверяю сообщение"
    assert stage_text("moderation", messages=[AIMessage("Что именно?"), HumanMessage("2")]) == "Проверяю сообщение"
    assert (
        stage_text("moderation", Context(language=Language.RU), messages=[HumanMessage("Where?")])
        == "Проверяю сообщение"
    )


@pytest.mark.parametrize("question", [None, "x", [], {}, {"language": {}}, {"language": "de"}])
def test_a_state_that_was_edited_breaks_nothing_off(question: Any) -> None:
    """Whatever stands in it; without words the profile's first language speaks."""
    first: Profile = PROFILE
    assert first.languages[0] is Language.EN
    assert stage_text("draft", question=question) == "Writing an answer"
    assert stage_text("moderation", question=question, messages=[]) == "Checking the message"
    assert stage_text("moderation", messages=[HumanMessage("x" * 3_000_000)]) == "Checking the message"
