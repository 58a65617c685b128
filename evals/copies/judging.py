"""Judgement of copies: how many faulty ones are found, and which good ones fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Final

from contracts.enums import Language
from contracts.evidence import EvidenceItem
from contracts.profile import UNNAMED
from evals import drafts
from evals.cases import DraftCase, DraftLabel
from evals.copies.corpora import CopyPage, corpora, pages, translations
from evals.copies.faults import GOOD, Copy, CopyMethod, Teller, names_in
from evals.copies.pieces import pieces
from evals.drafts import JudgedCase
from evals.scores import Share, table

PAGES: Final = 400
"""Pages of a corpus and language that are read at most, by the hash of their paths."""
MOST: Final = 60
"""Drafts of one kind over one corpus and language, a page each."""
AIMS: Final = {
    CopyMethod.NUMBER: 0.98,
    CopyMethod.NEGATION: 0.95,
    CopyMethod.NAME: 0.93,
    CopyMethod.SWAPPED: 0.90,
    CopyMethod.ANTONYM: 0.80,
    CopyMethod.OTHER_ROW: 0.80,
    CopyMethod.CONDITION: 0.70,
}
"""Shares of the faulty ones that are to be found."""
BOUNDS: Final = {CopyMethod.VERBATIM: 0.002, CopyMethod.REWRITTEN: 0.02, CopyMethod.TRANSLATED: 0.03}
"""Shares of the good ones that may fail."""


@dataclass(frozen=True, slots=True)
class JudgedCopy:
    """A draft that copies a page, how it was made, and the judgement."""

    page: CopyPage
    made: CopyMethod
    judged: JudgedCase

    @property
    def objected(self) -> bool:
        """Whether grounding objected."""
        return "grounding" in self.judged.objected


def copies(page: CopyPage, names: Sequence[str], root: Path) -> Iterator[tuple[CopyMethod, EvidenceItem, str]]:
    """Yield, for each page, one draft of each possible kind, with the passage that it cites."""
    found: dict[CopyMethod, list[tuple[EvidenceItem, str]]] = {}

    def keep(item: EvidenceItem, told: Iterator[Copy]) -> None:
        for made, text in told:
            found.setdefault(made, []).append((item, text))

    teller = Teller(page.language, names, _dice(page.key, page.language))
    for item in page.passages:
        for piece in pieces(item):
            keep(item, teller.tell(piece, item))
    if page.language is Language.EN:
        russian = Teller(Language.RU, names, _dice(page.key, Language.RU))
        for item, paragraph in translations(root, page):
            keep(item, russian.tell_translated(paragraph, item))
    dice = _dice(f"{page.key} chosen", page.language)
    for made, told in found.items():
        item, text = dice.choice(told)
        yield made, item, text


def _dice(what: str, language: Language) -> Random:
    return Random(sha256(f"{what} {language}".encode()).digest())  # noqa: S311  # nothing secret is drawn


async def judge(data: Path, *, held_back: bool, most: int = PAGES) -> list[JudgedCopy]:
    """Make copies of the pages of all present corpora, and judge them as a model's drafts.

    Args:
        data: The folder of public data.
        held_back: Whether to judge copies of held-back pages, too.
        most: The most pages to read of each corpus and language.
    """
    judged: list[JudgedCopy] = []
    for corpus, root in corpora(data).items():
        for language in Language:
            read = pages(corpus, root, language, most)
            names = sorted({name for page in read for item in page.passages for name in names_in(item.snippet)})
            made = [
                (page, *copy)
                for page in read
                if page.passages and (held_back or not page.held_back)
                for copy in copies(page, names, root)
            ]
            judged += await _judge(_first(made))
    return judged


_Copied = tuple[CopyPage, CopyMethod, EvidenceItem, str]


def _first(made: Sequence[_Copied]) -> list[_Copied]:
    """Return so many of each kind, those that are held back counted apart."""
    seen: Counter[tuple[CopyMethod, bool]] = Counter()
    kept: list[_Copied] = []
    for one in made:
        of = (one[1], one[0].held_back)
        seen[of] += 1
        if seen[of] <= (MOST // 2 if of[1] else MOST):
            kept.append(one)
    return kept


async def _judge(made: Sequence[_Copied]) -> list[JudgedCopy]:
    cases = [
        DraftCase(
            id=f"{page.language}/{page.key}/{kind}",
            language=Language.RU if kind in (CopyMethod.TRANSLATED, CopyMethod.TRANSLATION) else page.language,
            label=DraftLabel.GOOD,
            question=item.heading or item.title,
            evidence=(item, *[other for other in page.passages if other is not item][:1]),
            draft=text,
        )
        for page, kind, item, text in made
    ]
    found = await drafts.judge(cases, {}, UNNAMED)
    return [JudgedCopy(page, kind, one) for (page, kind, _, _), one in zip(made, found, strict=True)]


def section(judged: Sequence[JudgedCopy], *, held_back: bool) -> list[str]:
    """Return the tables on copies."""
    made = (
        "Each draft is one sentence, list or row of a page, cited, with one thing changed. Somebody who had not seen the rules wrote down the "
        "words that are exchanged. *Found* counts what grounding objected to. A third of the pages is held back, by the hash of their paths."
    )
    return [made, fault_table(judged, held_back=held_back), good_table(judged, held_back=held_back)]


def bars(judged: Sequence[JudgedCopy], *, held_back: bool) -> dict[str, list[tuple[str, Share]]]:
    """Return the share found of each fault, per language of the drafts, for the pages that the report is about."""
    mine = [one for one in judged if one.page.held_back is held_back]
    return {
        str(language): [
            (str(made), share([one for one in mine if one.made is made and one.judged.case.language is language]))
            for made in CopyMethod
            if made not in GOOD
        ]
        for language in Language
    }


def describe_miss(one: JudgedCopy) -> str:
    """Return a description of an unexpected judgement; empty if it was as expected."""
    if one.objected is (one.made not in GOOD):
        return ""
    why = f"failed: {', '.join(one.judged.reasons)}" if one.objected else "grounding found nothing"
    return f"{why}: {one.judged.case.draft[:300]!r}"


def fault_table(judged: Sequence[JudgedCopy], *, held_back: bool) -> str:
    """Return a table of how many drafts grounding objected to, per fault, language and corpus."""
    names = list(dict.fromkeys(one.page.corpus for one in judged))
    rows = [["what is wrong", "pages", "aim", "found", *names]]
    for made in CopyMethod:
        if made not in GOOD:
            rows += _rows(judged, made, names, f"≥ {AIMS[made]:.0%}" if made in AIMS else "–", held_back=held_back)
    return table(rows)


def good_table(judged: Sequence[JudgedCopy], *, held_back: bool) -> str:
    """Return a table of how many good drafts grounding objected to."""
    names = list(dict.fromkeys(one.page.corpus for one in judged))
    rows = [["good drafts", "pages", "aim", "failed", *names]]
    for made in GOOD:
        rows += _rows(judged, made, names, f"≤ {BOUNDS[made]:.1%}" if made in BOUNDS else "–", held_back=held_back)
    return table(rows)


def _rows(
    judged: Sequence[JudgedCopy], made: CopyMethod, names: Sequence[str], aim: str, *, held_back: bool
) -> list[list[str]]:
    rows: list[list[str]] = []
    for split in (False, True) if held_back else (False,):
        mine = [one for one in judged if one.made is made and one.page.held_back is split]
        if mine:
            of_corpora = [share([one for one in mine if one.page.corpus == name]) for name in names]
            rows.append(
                [str(made), "held back" if split else "tuned on", aim, str(share(mine)), *map(_short, of_corpora)]
            )
    return rows


def share(judged: Sequence[JudgedCopy]) -> Share:
    """Return the share of drafts that grounding objected to."""
    return Share(sum(one.objected for one in judged), len(judged))


def _short(found: Share) -> str:
    return f"{found.hits}/{found.of}" if found.of else "–"
