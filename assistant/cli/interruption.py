"""Ctrl-C while a turn runs."""

from __future__ import annotations


class InterruptedTurn(KeyboardInterrupt):
    """Ctrl-C came while a turn ran; its conversation is kept.

    Attributes:
        thread: The conversation's id.
    """

    def __init__(self, thread: str) -> None:
        super().__init__(thread)
        self.thread = thread
