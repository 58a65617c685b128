"""The extractive drafter: it answers with quotations from the documents, and cites each one.

It is not a language model: it cannot summarise, compare or conclude. It finds the steps, the table row, the code block
or the sentences that share the question's words, and keeps them whole and in order. If nothing does, it says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import NamedTuple

from adapters.drafting.formats import compose
from adapters.drafting.passages import LEFT_OUT, Unit, units
from adapters.drafting.quotation import add_citation, is_cited, is_whole, quote_row, quote_unit
from adapters.drafting.selection import ScoredUnit, lookup_of, pick_units
from adapters.planning.clarification import asks_of_nothing
from contracts.enums import DraftKind, Language, RequestType, RequiredAction, ResponseFormat, Source
from contracts.ports import Draft, DraftRequest
from language.attacks.demands import draft_asks_for_secrets
from language.forbidden import forbidden_in
from language.lexicon import STATUS, casual_kind
from language.markup import ICON
from language.patterns import read_toml
from language.privacy.links import foreign_links
from language.privacy.personal_data import Contacts
from language.words import stems

_FENCED = re.compile(r"^(```|~~~)", re.MULTILINE)


class Chosen(NamedTuple):
    """How a unit that somebody else has chosen stands in an answer: with its section's title above it, or a word before it."""

    titled: bool
    word: str = ""


class ExtractiveDrafter:
    """A drafter that quotes.

    Args:
        allowed_domains: Links to other hosts would fail the policy check. Text with such a bare link is not quoted;
            of a link with words, the words are quoted, with a note that the link was left out.
        contacts: Addresses and numbers that may be said: a link to one is quoted with them.
        product: The product's name: it occurs in many questions and says nothing about what is asked.
    """

    def __init__(
        self, allowed_domains: Iterable[str] = (), product: str = "", contacts: Contacts | None = None
    ) -> None:
        self._domains = tuple(allowed_domains)
        self._contacts = contacts
        self._ignored = frozenset(stems(product))
        _phrases()  # read now, not by the first turn

    async def draft(self, request: DraftRequest) -> Draft:
        """Quote what answers each question, or abstain."""
        own = own_words(request.language)
        if request.request_type is RequestType.CASUAL:
            return Draft(DraftKind.ANSWER, own[casual_kind(request.question) or "greetings"])
        # "How do I delete it?" has its words in pages about anything that is deleted.
        if request.request_type not in STATUS and all(map(asks_of_nothing, request.subqueries)):
            return Draft(DraftKind.ABSTENTION, own["abstention"])
        quotable = self.list_quotable(request)
        while picked := pick_units(quotable, request, self._ignored):
            text, unfit = self.write(picked, request)
            if not unfit:
                return Draft(DraftKind.ANSWER, text, quoted=True)
            quotable = [unit for unit in quotable if unit not in unfit]
        return Draft(DraftKind.ABSTENTION, own["abstention"])

    def list_quotable(self, request: DraftRequest) -> list[Unit]:
        """Return the units of the evidence that policy, the contract and the Guardian's objections let stand."""
        return [unit for unit in self._units(request) if self._may_quote(unit, request)]

    def write(
        self, picked: Sequence[ScoredUnit], request: DraftRequest, chosen: Sequence[Chosen] = ()
    ) -> tuple[str, list[Unit]]:
        """Write units as an answer in the contract's format.

        Args:
            picked: The units in the order of the answer, each with the number of its question.
            request: What is drafted.
            chosen: For each unit how it stands there, if somebody else has chosen it; then it is not shortened.

        Returns:
            The text, and the units that cannot be quoted as they are; with any, the text is empty.
        """
        own, asked = own_words(request.language), request.subqueries or (request.question,)
        titles = [one.titled for one in chosen] or _tell_new_sections(picked)
        quotes = [
            quote_unit(scored.unit, None if chosen else asked[scored.question], introduced=introduced, titled=titled)
            for scored, introduced, titled in zip(picked, _tell_continued(picked), titles, strict=True)
        ]
        # Looked at again as they are written: a heading may have become a lead, and a mark may split a sentence.
        unfit = [
            scored.unit
            for scored, quote in zip(picked, quotes, strict=True)
            if not (is_cited(quote) and is_whole(quote, scored.unit, request) and self._may_stand(quote, request))
        ]
        if unfit:
            return "", unfit
        # A passage whose quotation is taken for a demand costs the user that passage, and not every answer; of what is left
        # of one, a step may be missing. The stricter limit is right here: what it takes wrongly costs a passage only.
        demands = {one.unit.source for one, quote in zip(picked, quotes, strict=True) if draft_asks_for_secrets(quote)}
        if demands:
            return "", self._of_sources(demands, picked, request)
        if chosen:
            words = [one.word for one in chosen]
            quotes = [f"{word}: {quote}" if word else quote for word, quote in zip(words, quotes, strict=True)]
        texts = [in_plain(text, own) for text in _join_lookup_rows(picked, quotes, request, own)]
        text = compose(texts, request.spec, request.language)
        if draft_asks_for_secrets(text):
            return "", self._of_sources({one.unit.source for one in picked}, picked, request)
        if self._may_stand(text, request):
            return text, []
        # As strings of JSON, texts with single marks of code can be read otherwise together.
        return "", [picked[-1].unit]

    def _of_sources(self, sources: Collection[int], picked: Sequence[ScoredUnit], request: DraftRequest) -> list[Unit]:
        """Return all units of some passages; those that were picked as they were picked, which may be shorter."""
        every = (*(one.unit for one in picked), *self._units(request))
        return [unit for unit in every if unit.source in sources]

    def _units(self, request: DraftRequest) -> list[Unit]:
        markdown = request.spec.response_format is ResponseFormat.MARKDOWN
        return [
            unit
            for n, item in enumerate(request.evidence, 1)
            for unit in units(item, n, self._domains, self._contacts, relative_links=markdown)
        ]

    def _may_quote(self, unit: Unit, request: DraftRequest) -> bool:
        if not self._may_stand(unit.text, request):
            return False
        source = request.evidence[unit.source - 1].source
        if request.request_type is RequestType.STATUS_METRIC and source in (Source.DOC, Source.POLICY):
            return False  # a figure of today stands in no document
        # What the Guardian objected to by name is not quoted a second time.
        blamed = " ".join(request.reasons)
        return RequiredAction.REGENERATE_DRAFT not in request.actions or unit.lead[:57] not in blamed or not unit.lead

    def _may_stand(self, text: str, request: DraftRequest) -> bool:
        """Whether policy and contract let a text stand in an answer."""
        return not foreign_links(text, self._domains) and not forbidden_in(request.spec.forbidden_content, text)


def _join_lookup_rows(
    picked: Sequence[ScoredUnit], quotes: list[str], request: DraftRequest, own: dict[str, str]
) -> list[str]:
    """Make one list of the quoted rows of each lookup; where it has more rows than are quoted, the list says so."""
    joined: list[str] = []
    for lookup, run in groupby(zip(picked, quotes, strict=True), lambda pair: lookup_of(pair[0].unit, request)):
        rows = list(run)
        if not lookup:
            joined += [quote for _, quote in rows]
            continue
        last = rows[-1][0].unit.source
        found = request.evidence[last - 1].found
        # An item of a list is one claim: a name with a question mark in it needs no citation of its own there.
        listed = [quote_row(scored.unit, quote) for scored, quote in rows] if len(rows) > 1 else [rows[0][1]]
        joined.append("\n".join(listed))
        more = found.endswith("+")
        count = int(found.removesuffix("+"))
        if more or count > len(rows):
            note = own["more_rows" if more else "not_all_rows"].format(found=count)
            joined[-1] += f"\n\n{add_citation(note, f'[{last}]')}"
    return joined


def _tell_continued(picked: Sequence[ScoredUnit]) -> list[bool]:
    """Return of each unit whether the one before it stands under the same heading."""
    places = [(scored.unit.source, scored.unit.heading) for scored in picked]
    return [number > 0 and places[number - 1] == place for number, place in enumerate(places)]


def _tell_new_sections(picked: Sequence[ScoredUnit]) -> list[bool]:
    """Return of each unit whether it begins another section of the passage that is being quoted."""
    units = [scored.unit for scored in picked]
    return [
        number > 0 and units[number - 1].source == unit.source and units[number - 1].heading != unit.heading
        for number, unit in enumerate(units)
    ]


def own_words(language: Language) -> dict[str, str]:
    """Return the few words of its own that a drafter which quotes has in a language, by their meaning."""
    return _phrases()[language]


def in_plain(quote: str, own: dict[str, str]) -> str:
    """Return a quotation with words in the place of the signs that stand for what was left out: links and pictures."""
    return quote.replace(LEFT_OUT, f"({own['link_left_out']})").replace(ICON, own["icon"])


@cache
def _phrases() -> dict[Language, dict[str, str]]:
    loaded = read_toml("adapters.drafting", "phrases.toml")
    return {Language(name): phrases for name, phrases in loaded.items()}
