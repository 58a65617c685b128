"""What a killed run left between two steps is finished by the next one."""

from __future__ import annotations

from adapters.index.embedded.index import PassageWriter, add, analyser
from adapters.index.store import Store

WRITTEN_ANEW = 20_000
"""Passages up to which the index is written anew when some of them go."""


def recover(store: Store, writer: PassageWriter) -> None:
    """Finish what a killed run left, and make the index again where it is not that of the store."""
    current = analyser()
    moving = store.in_motion()
    if store.meta("analyser") == current and moving:
        if store.count()[1] <= WRITTEN_ANEW:
            write_anew(store, writer)
        else:
            writer.remove(moving)
            add(writer, store.entries(coming=True))
        writer.commit()
        _settle(store, current)
    _, expected = store.count()
    if store.meta("analyser") != current or writer.count() != expected:
        writer.clear()
        add(writer, store.entries(coming=False))
        writer.commit()
        _settle(store, current)


def write_anew(store: Store, writer: PassageWriter) -> None:
    """Put everything that shall be there into fresh segments.

    tantivy counts deleted passages in its statistics until their segment is merged, so that the same documents
    would get other scores by the way they came. Up to `WRITTEN_ANEW` passages this takes a second or less.
    """
    writer.remove(store.numbers())
    add(writer, store.entries(coming=False))


def _settle(store: Store, current: str) -> None:
    with store.transaction():
        store.settle()
        store.set_meta("analyser", current)
