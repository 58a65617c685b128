"""Steps of a conversation: which of them are kept, and which are superseded by a later turn."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from contracts.errors import ThreadError


class CheckpointStep(NamedTuple):
    """The position of a checkpoint: its namespace ("" is the graph itself), its id, and the step it came from.

    Ids sort by time, within a thread and across its namespaces.
    """

    namespace: str
    checkpoint_id: str
    parent_id: str | None


def outlives_its_turn(namespace: str) -> bool:
    """Return whether a subgraph's namespace is its memory for the whole thread.

    If a subgraph starts from scratch each time, LangGraph puts the task's id after a colon. It leaves the id out for
    `compile(checkpointer=True)`: the next run then begins at the newest checkpoint of that namespace.
    """
    return namespace != "" and ":" not in namespace


def find_superseded(steps: Collection[CheckpointStep], start: str) -> list[CheckpointStep]:
    """Return the steps that are no longer needed once a turn has started from the checkpoint `start`.

    These steps are needed: `start` itself and everything newer, in every namespace; the newest memory of a subgraph
    that outlives its turn; and every step from which a newer one, a fork, was made.
    """
    older = [step for step in steps if step.checkpoint_id < start]
    newer = [step for step in steps if step.checkpoint_id > start]
    origins = {(step.namespace, step.parent_id) for step in newer}
    memories = set(newest(step for step in older if outlives_its_turn(step.namespace)))
    return [step for step in older if step not in memories and (step.namespace, step.checkpoint_id) not in origins]


def newest(steps: Iterable[CheckpointStep]) -> list[CheckpointStep]:
    """Return the newest step of each namespace."""
    latest: dict[str, CheckpointStep] = {}
    for step in steps:
        known = latest.get(step.namespace)
        if known is None or step.checkpoint_id > known.checkpoint_id:
            latest[step.namespace] = step
    return list(latest.values())


def later_step_error(thread_id: str) -> ThreadError:
    """Return the error of a step that would be older than the newest of its namespace, and never be found again."""
    return ThreadError(
        f"A step of conversation {thread_id!r} cannot be stored: a later one is there already, which would be taken for its "
        "end.",
        "Send the message again if another program writes to the conversation; where that does not help, delete the "
        "conversation or start another one.",
    )
