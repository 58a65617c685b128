"""A fake drafter without a model: it returns scripted drafts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from contracts.errors import DraftingFailed
from contracts.ports import Draft, DraftRequest


class FakeDrafter:
    """A drafter that returns one draft after another and repeats the last one.

    Args:
        drafts: The drafts, or the error to raise instead of a draft.

    Attributes:
        requests: What it was asked, in order.
    """

    def __init__(self, drafts: Iterable[Draft | DraftingFailed]) -> None:
        self._drafts: Iterator[Draft | DraftingFailed] = iter(drafts)
        self._last: Draft | DraftingFailed | None = None
        self.requests: list[DraftRequest] = []

    async def draft(self, request: DraftRequest) -> Draft:
        self.requests.append(request)
        self._last = next(self._drafts, self._last)
        if self._last is None:
            raise DraftingFailed("The fake drafter was given no draft.", "Give it one.")
        if isinstance(self._last, DraftingFailed):
            raise self._last
        return self._last
