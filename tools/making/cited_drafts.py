"""Good drafts with what their claims cite: what edits that make them wrong start from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from contracts.evidence import EvidenceItem
from evals.cases import DraftCase, Edit

_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
"""Code in running text; no fault is put there."""
CITE = re.compile(r"\[(\d+)\]")
"""A citation; its group is the number."""
_EXAMPLE = re.compile(
    r"for example|for instance|e\.g\.|such as|like this|like `|looks like|as in|say,|например|к примеру|таки[ехм]и? как|скажем|так:|вроде|скажем|как в|примеры?:",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CitedDraft:
    """A good draft with what its claims cite."""

    case: DraftCase
    passages: tuple[EvidenceItem, ...]

    @property
    def text(self) -> str:
        """The draft."""
        return self.case.draft

    def cited(self) -> str:
        """Return all text of the passages that the draft cites."""
        numbers = {int(number) for number in CITE.findall(self.text)}
        return "\n".join(_all_of(self.passages[n - 1]) for n in sorted(numbers) if n <= len(self.passages))

    def uncited(self) -> str:
        """Return all text of the passages that are there and not cited."""
        numbers = {int(number) for number in CITE.findall(self.text)}
        return "\n".join(_all_of(item) for n, item in enumerate(self.passages, 1) if n not in numbers)

    def edit(self, start: int, end: int, new: str) -> Edit | None:
        """Return an edit of a place, with as much around it as makes it stand once."""
        text = self.text
        left, right = start, end
        while left > 0 and not text[left - 1].isspace():
            left -= 1
        while right < len(text) and not text[right].isspace():
            right += 1
        while text.count(text[left:right]) > 1:
            if right < len(text):
                right += 1
                while right < len(text) and not text[right].isspace():
                    right += 1
            elif left > 0:
                left -= 1
                while left > 0 and not text[left - 1].isspace():
                    left -= 1
            else:
                return None
        old = text[left:right]
        return Edit(old=old, new=text[left:start] + new + text[end:right])

    def prose(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are no heading, no code and no line of a table's frame, with their places."""
        fenced = [found.span() for found in _FENCE.finditer(self.text)]
        at = 0
        for line in self.text.splitlines(keepends=True):
            start, at = at, at + len(line)
            if (
                any(begin <= start < end for begin, end in fenced)
                or line.startswith("#")
                or re.match(r"\|[\s|-]*$", line)
            ):
                continue
            yield start, line.rstrip("\n")

    def claims(self) -> Iterator[tuple[int, str]]:
        """Yield the sentences and items that carry a citation, with their places; examples are left out."""
        for start, line in self.prose():
            at = 0
            for part in re.split(r"(?<=\])(?=[.:;]?[ ])|(?<=\][.:;])", line):
                if CITE.search(part) and not _EXAMPLE.search(part):
                    yield start + at, part
                at += len(part)


def without_quotes(text: str) -> str:
    """Return a text with what stands in quotation marks made unreadable, every character in its place."""
    return re.sub(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“]*“", lambda found: "#" * len(found.group()), text)


def _all_of(item: EvidenceItem) -> str:
    return f"{item.title}\n{item.heading}\n{item.snippet}"


Found = tuple[Edit, str]
"""An edit and a note on its kind."""


def shuffle(good: Sequence[DraftCase], passages: Mapping[str, EvidenceItem], seed: str) -> list[CitedDraft]:
    """Return good drafts with their passages, in the order of a seed."""
    bases = sorted(good, key=lambda base: sha256(f"{seed} {base.id}".encode()).digest())
    return [CitedDraft(base, tuple(passages[str(ref)] for ref in base.evidence)) for base in bases]
