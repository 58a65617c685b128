"""Progress of a turn for LangGraph's own clients, which read it from the stream mode `custom`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from assistant.turns.progress import phrases
from assistant.turns.views import Stage
from contracts.enums import Language
from guards.message_check import MAX_MESSAGE_CHARS, message_language

if TYPE_CHECKING:
    from contracts.context import Context
    from contracts.profile import Profile
    from contracts.state import Json
    from graph.build import Progress

_TOLD: Final = frozenset(Stage) - {Stage.RETRYING}


def stage_progress(profile: Profile) -> Progress:
    """Return what says which stage of a turn begins: its name, and the phrase of the chat page.

    The phrase is in the language of the question, or, before that is known, of the newest message.
    """
    said = {language: phrases(language) for language in Language}  # read now, for no file is read while the loop runs

    def tell(node: str, state: Mapping[str, Any], context: Context) -> Json | None:
        # The node that counts retries reads no question: a retry is told when its search begins.
        stage = Stage.RETRYING if node == Stage.SEARCHING and state.get("retry_count") else node
        if node not in _TOLD:
            return None
        text = said[_language(state, context, profile)][f"page_stage_{stage}"]
        return {"progress": {"stage": str(stage), "text": text}}

    return tell


def _language(state: Mapping[str, Any], context: Context, profile: Profile) -> Language:
    # After an edit in Studio the question may be anything.
    question: Any = state.get("question")
    known = cast("Mapping[str, Any]", question).get("language") if isinstance(question, Mapping) else context.language
    return message_language(_newest_words(state.get("messages")), profile, known)


def _newest_words(messages: Any) -> str:
    """Return the newest message, or the one before if the newest has no words, such as the number of a choice."""
    last = cast("list[Any]", messages or [])[-2:]
    texts = [str(getattr(message, "text", ""))[:MAX_MESSAGE_CHARS] for message in last]
    return next((text for text in reversed(texts) if any(map(str.isalpha, text))), "")
