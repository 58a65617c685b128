"""The conversation and the id of a message, if its client names neither but sends the whole conversation again."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.turns.histories import Histories, history_key
from assistant.turns.transcript import Turn, TurnStore
from language.clean import clean

STOPPED = "stopped"
"""The `block_reason` of a turn that its user stopped."""


async def place_message(
    store: TurnStore, histories: Histories, said: Sequence[str], *, owner: str, begun: str
) -> tuple[str, str]:
    """Return the stored id of the conversation that a message belongs to, and the message's id.

    It is the conversation in which its owner has said exactly the same before. A message that is sent again gets the
    same conversation and id, but another id if it was stopped. A first message always begins a new conversation,
    because two may begin alike.

    Args:
        store: The transcript.
        histories: The messages of each conversation.
        said: All messages of the owner in the conversation, as the client recorded them, the new one last.
        owner: The owner of the conversation.
        begun: The conversation's id if it is new.
    """
    texts = [clean(text) for text in said]
    key = history_key(owner, texts)
    if before := texts[:-1]:
        again = await histories.find(key)
        # Of two that began alike, each goes on in its own: one that has its answer is not taken for sent again.
        waiting = again is not None and await store.unfinished(again) is not None
        onward = None if waiting else await histories.advance(history_key(owner, before), key)
        if thread := onward or again:
            turns = await store.turns(thread)
            asked = _said_in(turns)
            # By its name others may have said more in it.
            if any(history[-len(asked) :] == asked for history in ([before] if onward else [texts, before])):
                return thread, _id_for(key, turns)
    await histories.begin(begun, key)
    return begun, key


def _was_stopped(turn: Turn) -> bool:
    return turn.result is not None and turn.result.get("block_reason") == STOPPED


def _said_in(turns: Sequence[Turn]) -> list[str]:
    """Return what a conversation's user said in it; what was stopped and then said again, once."""
    after = [turn.question for turn in turns[1:]]
    said_again = [_was_stopped(turn) and turn.question == then for turn, then in zip(turns, after, strict=False)]
    return [turn.question for turn, again in zip(turns, [*said_again, False], strict=False) if not again]


def _id_for(key: str, turns: Sequence[Turn]) -> str:
    """Return the id of a message: that of its history, or the next one after those that were stopped."""
    over = {turn.turn_id for turn in turns if _was_stopped(turn)}
    return next(name for n in range(len(turns) + 1) if (name := f"{key}-{n}" if n else key) not in over)
