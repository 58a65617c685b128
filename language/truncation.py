"""Cutting texts to a size, at places where a cut does not change the meaning of a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Size = Callable[[str], int]


def bytes_of(text: str) -> int:
    """Return the size of a text in UTF-8."""
    return len(text.encode("utf-8", "replace"))


def cut_in_proportion(texts: Sequence[str], budget: int, size: Size = len) -> list[str]:
    """Cut texts, best first, if together they exceed the budget; a text without room becomes empty.

    The n-th of k texts may have a share of (k - n + 1) / (1 + ... + k); unused room goes to the texts after it.
    """
    if sum(map(size, texts)) <= budget:
        return list(texts)
    count = len(texts)
    total = count * (count + 1) / 2
    kept: list[str] = []
    spare = 0.0
    for rank, text in enumerate(texts):
        share = budget * (count - rank) / total + spare
        kept.append(cut_text(text, int(share), size))
        spare = share - size(kept[-1])
    return kept


def cut_text(text: str, budget: int, size: Size = len) -> str:
    """Cut a text at the end of a line; if that loses more than half, of a sentence; in one long sentence, of a word."""
    if size(text) <= budget:
        return text
    room = _room(text, budget, size)
    line = text.rfind("\n", 0, room)
    sentence = max(text.rfind(mark, 0, room) + 1 for mark in (". ", "! ", "? "))
    cut = line if line > room // 2 else max(line, sentence)
    return text[: max(cut if cut > 0 else text.rfind(" ", 0, room), 0)].rstrip()


def in_short(text: str, limit: int = 60) -> str:
    """Return a text in one line, cut to a number of characters with dots at its end; reasons quote claims so."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 3]}..."


def cut_middle(text: str, budget: int, size: Size = len, mark: str = "\n[…]\n") -> str:
    """Cut a text in its middle, which matters least in a message; the mark is part of the budget."""
    if size(text) <= budget:
        return text
    left = max(0, budget - size(mark))
    head = text[: _room(text, left - left // 2, size)]
    tail_room = _room(text[::-1], left // 2, size)
    tail = text[len(text) - tail_room :] if tail_room else ""
    return f"{head}{mark}{tail}" if size(mark) <= budget else ""


def _room(text: str, budget: int, size: Size) -> int:
    """Return how many characters from the beginning are within the budget."""
    if budget <= 0:
        return 0
    low, high = 0, min(len(text), budget)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle]) <= budget else (low, middle - 1)
    return low
