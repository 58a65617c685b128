"""The extractive drafter: it quotes what answers, in the documents' own words, and cites each quotation.

It is no language model. It cannot summarise, compare or conclude; what it can is to find the steps, the
table row, the code block or the sentences that share the question's words, keep them whole and in order,
and say honestly when nothing does.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Final

from adapters.drafting.formats import in_format
from adapters.drafting.passages import LEFT_OUT, Unit, units
from adapters.planning.clarification import asks_of_nothing
from contracts.enums import DraftKind, Language, RequestType, RequiredAction, ResponseFormat, Source
from contracts.ports import Draft, DraftRequest
from language.blocks import Block, BlockKind, blocks, has_steps, paragraph_lines
from language.claims import claims
from language.figures.comparison import missing_from
from language.forbidden import forbidden_in
from language.lexicon import STATUS, casual_kind
from language.markup import ICON
from language.privacy.links import foreign_links
from language.privacy.personal_data import Contacts
from language.sentences import sentences
from language.words import Phrases, stems, tokens

LEAST_COVERAGE: Final = 0.4
"""Share of the question's weighted words that a passage and its headings must have; below, it does not answer."""
LEAST_OF_UNIT: Final = 0.4
"""The same share for what is quoted itself."""
ASKED_FOR: Final = 0.75
"""Confidence of a row from which on the plan or the question's words asked for its lookup; see `LookupSource`."""
MOST_ROWS: Final = 10
"""Rows of one lookup that are quoted; that there are more is said."""
_BODY_BONUS, _HEADING_SHARE, _HEADING_FIT, _TRUST, _OPENING_BONUS = 0.05, 0.8, 0.5, 3.0, 0.4
_YES_OR_NO_BONUS, _REMEDY_BONUS, _MID_AIR, _ABOUT_ITSELF, _TOO_LONG = 0.2, 0.2, 0.1, 0.3, 0.2
_SECOND_BEST, _SECOND_BODY, _TOO_ALIKE = 0.8, 0.95, 0.6
_LONG_PARAGRAPH, _SENTENCES, _MOST_CHARS = 900, 5, 900
_NEARLY, _MOST_TRIED = 0.7, 5
_ADDS, _MOST_BESIDE = 0.1, 3
"""Share of the question that a unit from elsewhere must add, and how many of these there may be."""
_SAYS_IT, _ROOM_BESIDE, _ROOM_AROUND = 0.8, 600, 1500
"""Share of the question from which a unit says by itself what was asked, and the characters of the answer that its passage
then fills; if it says less, more: of 155 answers on five manuals whose page was right, 103 then have a sentence that was
labelled instead of 79, at a median of 820 characters instead of 470. To choose the unit otherwise (by meaning, by its place, by
steps, by what its heading says beside the question) moved no more than two of them."""
_WHOLE_LIST, _WHOLE_TABLE, _LONG_BODY, _LONG_ITEM, _DEEPEST = 10, 7, 1000, 500, 3
_MOST_LOOKUPS = 2
_DEFINES = re.compile(
    r"^\W*(?:what(?:'s| is| are| does)\b(?!.*\b(?:happen|do)\b)|что (?:такое|это|значит|означает)\b|чем является\b)",
    re.IGNORECASE,
)
_HOW = re.compile(r"^\W*(?:а\s+|и\s+|so\s+|and\s+)?(?:как(?:им образом)?|how)\b", re.IGNORECASE)
_REMEDY = re.compile(
    r"\b(?:solution|resolution|remedy|fix(?:ing)?|workaround|what to do|troubleshooting)\b"
    r"|\b(?:решени[ея]|устранени[ея]|что (?:с)?делать|как исправить|исправление)\b",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"\b(?:symptoms?|problem|issue|signs|description)\b|\b(?:симптомы?|проблема|признаки|описание)\b", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"\W*(?:in (?:this|that|such an?) case|here|also|however|then|otherwise|besides|therefore|thus|moreover|for example|this|that|these|those|it|they"
    r"|здесь|тут|там|также|кроме того|однако|затем|тогда|иначе|поэтому|при этом|в (?:этом|таком) случае|например|это|этот|эта|эти|такой|такая|такие|он|она|оно|они)"
    r"\b(?!-)(?!\s+(?:page|section|article|guide|chapter|раздел|стать|страниц|руководств))",
    re.IGNORECASE,
)
"""How a sentence begins that goes on from one before it."""
_OF_ITSELF = re.compile(
    r"\W*(?:this|the) (?:section|article|guide|page|chapter|document) (?:describes|explains|contains|covers|provides|lists|tells)\b"
    r"|\W*(?:в (?:этом |этой |данном |данной )?(?:разделе|статье|руководстве|главе)|(?:этот|эта|это|данный|данная) (?:раздел|статья|руководство))"
    r" (?:приведен|привед[её]н|описан|описыва|содержит|рассказ|собран|представлен)",
    re.IGNORECASE,
)
"""How a page speaks of itself instead of its matter."""
_YES_OR_NO = re.compile(
    r"^\W*(?:can|could|may|is|are|does|do|will|has|have)\b|\bли\b|^\W*(?:есть|поддерживается|поддерживаются)\b",
    re.IGNORECASE,
)
_WARNS = re.compile(
    r"\b(?:cannot be (?:undone|brought back|restored|recovered|reversed)|can(?:not|'t) (?:restore|undo|recover)|irrevers\w+|permanently|for good"
    r"|необратим\w+|безвозвратн\w+|(?:нельзя|невозможно|не получится) (?:будет )?(?:восстановить|отменить|вернуть))\b",
    re.IGNORECASE,
)
"""What whoever follows steps has to know before."""
_TITLE_OF_A_TAB = re.compile(r"\*\*[^*\n]+\*\*:?|__[^_\n]+__:?")
_NUMBERING = re.compile(r"\d{1,3}(?:\.\d{1,3})*\\?[.)]\s+")
_ENTITY = re.compile(r"&#?\w+")
_OF_PAGES: Final = (Source.DOC, Source.POLICY)
_CLOSING: Final = ".!?:;…"
_FENCED = re.compile(r"^(```|~~~)", re.MULTILINE)
_MARKER_ALONE = re.compile(r"(?<![ \t])[ \t]*+(?:[-*+]|\d{1,9}[.)])\s*")
_MARKER_AND_FENCE = re.compile(r"^([ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)((?:```|~~~).*)$")


class ExtractiveDrafter:
    """Drafts by quoting.

    Args:
        allowed_domains: Links to other hosts would fail the policy check. What carries a bare one is not quoted; of
            one with words, the words are, with a note that the link was left out.
        contacts: Addresses and numbers that may be said: a link to one is quoted with them.
        product: Its name stands in many questions and says nothing about what is asked.
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
        own = _phrases()[request.language]
        if request.request_type is RequestType.CASUAL:
            return Draft(DraftKind.ANSWER, own[casual_kind(request.question) or "greetings"])
        # "How do I delete it?" has its words in pages about anything that is deleted.
        if request.request_type not in STATUS and all(map(asks_of_nothing, request.subqueries)):
            return Draft(DraftKind.ABSTENTION, own["abstention"])
        quotable = [unit for unit in self._units(request) if self._may_quote(unit, request)]
        while picked := _pick(quotable, request, self._ignored):
            quotes = [
                _quote(scored.unit, request.subqueries[scored.question], introduced=introduced, titled=titled)
                for scored, introduced, titled in zip(
                    picked, _tell_continued(picked), _tell_new_sections(picked), strict=True
                )
            ]
            # Looked at again as they are written: a heading may have become a lead, and a mark may split a sentence.
            unfit = [
                scored.unit
                for scored, quote in zip(picked, quotes, strict=True)
                if not (_is_cited(quote) and _is_whole(quote, scored.unit, request) and self._may_stand(quote, request))
            ]
            if not unfit:
                note = f"({own['link_left_out']})"
                texts = [
                    text.replace(LEFT_OUT, note).replace(ICON, own["icon"])
                    for text in _join_lookup_rows(picked, quotes, request, own)
                ]
                if self._may_stand(text := _compose(texts, request), request):
                    return Draft(DraftKind.ANSWER, text)
                # As strings of JSON, texts with single marks of code can be read otherwise together.
                unfit = [picked[-1].unit]
            quotable = [unit for unit in quotable if unit not in unfit]
        return Draft(DraftKind.ABSTENTION, own["abstention"])

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


@dataclass(frozen=True, slots=True)
class _Scored:
    unit: Unit
    score: float
    question: int


class _Weights:
    """How much each word of a question says: rare among the candidates says more (inverse document frequency)."""

    def __init__(self, question: str, candidates: Sequence[Unit], ignored: frozenset[str]) -> None:
        passages: dict[int, set[str]] = {}
        for unit in candidates:
            passages.setdefault(unit.source, set()).update(unit.words)
        count = len(passages)
        # A word that no passage has weighs as one that a single passage has: it may be the heart of the question,
        # or only a way of putting it.
        self.of = {
            word: math.log(1 + (count + 1) / (0.5 + max(1, sum(word in there for there in passages.values()))))
            for word in dict.fromkeys(stems(question))
            if word not in ignored
        }
        self.total = sum(self.of.values())

    def fit(self, headings: Iterable[str]) -> float:
        """Return how much of the best fitting heading the question says, 0 to 1: one that says more is about more."""
        fits = [0.0]
        for heading in headings:
            for part in heading.split(" › "):
                said = set(stems(part))
                if said:
                    fits.append(sum(word in self.of for word in said) / len(said) * self.share(said))
        return max(fits)

    def share(self, words: Iterable[str]) -> float:
        """Return the weighted share of the question's words that are among the given ones, 0 to 1."""
        there = set(words)
        return sum(weight for word, weight in self.of.items() if word in there) / self.total if self.total else 0.0


def _lookup(unit: Unit, request: DraftRequest) -> str:
    """Return the lookup that a unit is a row of; empty for a passage."""
    return request.evidence[unit.source - 1].lookup


def _join_lookup_rows(
    picked: list[_Scored], quotes: list[str], request: DraftRequest, own: dict[str, str]
) -> list[str]:
    """Make one list of the quoted rows of each lookup; where it has more rows than are quoted, the list says so."""
    joined: list[str] = []
    for lookup, run in groupby(zip(picked, quotes, strict=True), lambda pair: _lookup(pair[0].unit, request)):
        rows = list(run)
        if not lookup:
            joined += [quote for _, quote in rows]
            continue
        last = rows[-1][0].unit.source
        found = request.evidence[last - 1].found
        # An item of a list is one claim: a name with a question mark in it needs no citation of its own there.
        listed = [_row(scored.unit, quote) for scored, quote in rows] if len(rows) > 1 else [rows[0][1]]
        joined.append("\n".join(listed))
        more = found.endswith("+")
        count = int(found.removesuffix("+"))
        if more or count > len(rows):
            note = own["more_rows" if more else "not_all_rows"].format(found=count)
            joined[-1] += f"\n\n{_cite(note, f'[{last}]')}"
    return joined


def _row(unit: Unit, quote: str) -> str:
    return f"- {quote if unit.body else _cite(unit.lead, f'[{unit.source}]')}"


def _pick(candidates: list[Unit], request: DraftRequest, ignored: frozenset[str]) -> list[_Scored]:
    """Choose the units of the answer: per question the best one with its neighbours, then what adds to it."""
    picked: list[_Scored] = []
    for number, question in enumerate(request.subqueries):
        weights = _Weights(question, candidates, ignored)
        ranked = sorted(
            (_Scored(unit, _score(unit, weights, question, request), number) for unit in candidates),
            key=lambda scored: (-scored.score, scored.unit.source, scored.unit.order),
        )
        near = [scored for scored in ranked if scored.score >= _SECOND_BEST * ranked[0].score][:_MOST_TRIED]
        best = next((scored for scored in near if _covers(scored.unit, candidates, weights, request)), None)
        if best:
            ranked = [best, *(scored for scored in ranked if scored is not best)]
            ranked = _steps_first(ranked) if _HOW.search(question) else ranked
            company = _with_company(ranked, candidates, request, weights)
            picked += [s for s in company if all(s.unit is not p.unit for p in picked)]
    return picked


def _score(unit: Unit, weights: _Weights, question: str, request: DraftRequest) -> float:
    item = request.evidence[unit.source - 1]
    score = weights.share(unit.words) + _HEADING_SHARE * weights.share(unit.heading_words)
    score += _HEADING_FIT * weights.fit(unit.heading.split(" — "))
    if _asked_for(unit, weights, request):
        return (1 + score) * item.confidence
    score *= item.confidence**_TRUST
    if _DEFINES.search(question) and unit.order == 0 and item.ref.endswith("#0"):
        # Pages say what a thing is in their first sentences.
        score += _OPENING_BONUS * weights.share(unit.heading_words)
    elif _YES_OR_NO.search(question) and unit.order == 0 and unit.body is None:
        score += _YES_OR_NO_BONUS * weights.share(unit.heading_words)
    if _wants_steps(question, request):
        score += _remedies(unit)
    return score - _unfit_to_begin(unit, question) + _terms_bonus(unit, request)


def _remedies(unit: Unit) -> float:
    """Return how much a unit gains where something is to be done: by its form, and by the title of its section."""
    title = _section(unit)
    score = _REMEDY_BONUS * (bool(_REMEDY.search(title)) - bool(_COMPLAINT.search(title)))
    if unit.body and unit.body.kind is BlockKind.STEPS:
        score += 2 * _BODY_BONUS
    elif unit.body and unit.body.kind is BlockKind.CODE:
        score += _BODY_BONUS
    return score


def _unfit_to_begin(unit: Unit, question: str) -> float:
    """Return how much a unit loses as the beginning of an answer."""
    lost = _MID_AIR if unit.order == 0 and _GOES_ON.match(unit.lead) else 0.0
    if _OF_ITSELF.match(unit.lead):
        lost += _ABOUT_ITSELF
    if not _HOW.search(question):
        # Where nobody asks how, a page of steps is more than is wanted.
        lost += _TOO_LONG * min(1.0, max(0.0, len(unit.text) / _LONG_BODY - 1) / 3)
    return lost


def _asked_for(unit: Unit, weights: _Weights, request: DraftRequest) -> bool:
    """Whether a unit is a row of a lookup that this question asked for."""
    item = request.evidence[unit.source - 1]
    if not item.lookup or item.confidence < ASKED_FOR:
        return False
    # Of several questions, the row's own words tell whose it is; a row often has other words than the question.
    return len(request.subqueries) == 1 or weights.share(unit.words) >= LEAST_OF_UNIT


def _wants_steps(question: str, request: DraftRequest) -> bool:
    kinds = (RequestType.HOWTO_POLICY, RequestType.TROUBLESHOOTING)
    return request.request_type in kinds or bool(_HOW.search(question))


def _terms_bonus(unit: Unit, request: DraftRequest) -> float:
    if RequiredAction.USE_DOMAIN_TERMS not in request.actions:
        return 0.0
    return 1.0 if Phrases(request.spec.domain_terms).find(unit.text) else 0.0


def _covers(unit: Unit, candidates: list[Unit], weights: _Weights, request: DraftRequest) -> bool:
    """Whether a unit with its headings has enough of the question's words, and its passage enough of all."""
    if _asked_for(unit, weights, request):
        return True
    own = unit.words | unit.heading_words
    if len(weights.of) == 1 and not unit.heading_words.issuperset(weights.of):
        return False  # of a single word, a mention in passing is no answer: the section must be about it
    passage = {word for other in candidates if other.source == unit.source for word in other.words}
    return weights.share(own) >= LEAST_OF_UNIT and weights.share(passage | own) >= LEAST_COVERAGE


def _steps_first(ranked: list[_Scored]) -> list[_Scored]:
    """Put the steps of the best unit's section in its place, where it is a remark on them."""
    best = ranked[0]
    for scored in ranked[1:]:
        if scored.score < _NEARLY * best.score or (best.unit.body and best.unit.body.kind is BlockKind.STEPS):
            break
        unit = scored.unit
        same = (unit.source, unit.heading) == (best.unit.source, best.unit.heading)
        if same and unit.body and unit.body.kind is BlockKind.STEPS:
            return [scored, *(other for other in ranked if other is not scored)]
    return ranked


class _Company:
    """What is quoted beside the best unit of a question."""

    def __init__(self, best: _Scored, weights: _Weights) -> None:
        self.best = best
        self.chosen = [best]
        self.size = len(best.unit.text)
        self.added = 0
        self._weights = weights
        self._covered = set(best.unit.words | best.unit.heading_words)

    def add(self, unit: Unit) -> None:
        self.chosen.append(_Scored(unit, self.best.score, self.best.question))
        self.size += len(unit.text)
        self._covered.update(unit.words)

    def fits(self, unit: Unit) -> bool:
        """Whether there is room for a unit, and nothing like it there."""
        if self.size + len(unit.text) > _MOST_CHARS:
            return False
        return not any(unit is one.unit or _alike(unit, one.unit) for one in self.chosen)

    def lacks(self, unit: Unit) -> bool:
        """Whether a unit has words of the question that the answer has not."""
        more = self._weights.share(self._covered | unit.words) - self._weights.share(self._covered)
        return more >= _ADDS

    def surround(self, passage: Mapping[int, Unit]) -> None:
        """Add what stands around the best unit, its section first, two units behind for one before, as far as there is room.

        The less of the question the best unit says itself, the likelier the answer stands beside it, and the more room.
        """
        best = self.best.unit
        room = _ROOM_BESIDE if self._weights.share(best.words) >= _SAYS_IT else _ROOM_AROUND
        first = last = best.order
        if first - 1 in passage and _GOES_ON.match(best.lead):
            first -= 1
            self.add(passage[first])
        # Sections behind its own come last, and none before it: there, a remedy has its complaint.
        for headings in ({best.heading}, {unit.heading for unit in passage.values()}):
            grown = True
            while grown:
                grown = False
                for step in (1, 1, -1):
                    unit = passage.get(last + 1 if step > 0 else first - 1)
                    if unit is None or unit.heading not in (headings if step > 0 else {best.heading}):
                        continue
                    if step < 0 and _OF_ITSELF.match(unit.lead):
                        continue
                    if self.size + len(unit.text) <= (max(room, _MOST_CHARS) if self._follows(unit) else room):
                        self.add(unit)
                        first, last, grown = min(first, unit.order), max(last, unit.order), True

    def _follows(self, unit: Unit) -> bool:
        """Whether a unit right behind the best one belongs to it: what is to be done, or a warning of it."""
        best = self.best.unit
        if unit.order != best.order + 1:
            return False
        if best.body is None:
            return unit.body is not None and unit.body.kind in (BlockKind.STEPS, BlockKind.CODE)
        return unit.body is None and _WARNS.search(unit.lead) is not None


def _with_company(
    ranked: list[_Scored], candidates: list[Unit], request: DraftRequest, weights: _Weights
) -> list[_Scored]:
    """Return the best unit with what it needs to be understood, and with what answers more of the question.

    Its section and passage come with it, as far as there is room; others come if they add words of the question, up to
    `_MOST_CHARS`. A row brings the other rows of its lookup, however alike they are: they are one list.
    """
    best = ranked[0]
    if _lookup(best.unit, request):
        return _rows(ranked, request)
    company = _Company(best, weights)
    company.surround({unit.order: unit for unit in candidates if unit.source == best.unit.source})
    for scored in ranked[1:]:
        if company.added >= _MOST_BESIDE or scored.score < _SECOND_BEST * best.score:
            break
        if _may_join(scored, best, request) and company.fits(scored.unit) and company.lacks(scored.unit):
            company.add(scored.unit)
            company.added += 1
    return sorted(company.chosen, key=lambda s: (s.unit.source != best.unit.source, s.unit.source, s.unit.order))


def _may_join(scored: _Scored, best: _Scored, request: DraftRequest) -> bool:
    """Whether a unit can stand beside the best one at all."""
    unit = scored.unit
    if _lookup(unit, request) and request.evidence[unit.source - 1].found not in ("0", "1"):
        return False  # one row of a list would look like all there is
    if unit.source == best.unit.source:
        return True
    item, leads = (request.evidence[one.source - 1] for one in (unit, best.unit))
    if item.source in _OF_PAGES and leads.source in _OF_PAGES and item.document_key != leads.document_key:
        return False
    if unit.body and scored.score < _SECOND_BODY * best.score:
        return False  # a second list of steps, from elsewhere, is as likely as not another procedure
    return not _GOES_ON.match(unit.lead)


def _rows(ranked: list[_Scored], request: DraftRequest) -> list[_Scored]:
    """Return the rows of the best unit's lookup, then those of others that were asked for as surely."""
    best = ranked[0]
    sure = request.evidence[best.unit.source - 1].confidence
    by_lookup: dict[str, list[_Scored]] = {}
    for scored in ranked:
        item = request.evidence[scored.unit.source - 1]
        if item.lookup and item.source is request.evidence[best.unit.source - 1].source and item.confidence >= sure:
            by_lookup.setdefault(item.lookup, []).append(scored)
    return [
        scored
        for rows in list(by_lookup.values())[:_MOST_LOOKUPS]
        for scored in sorted(rows, key=lambda s: (s.unit.source, s.unit.order))[:MOST_ROWS]
    ]


def _alike(one: Unit, other: Unit) -> bool:
    shared = len(one.words & other.words)
    return shared > _TOO_ALIKE * min(len(one.words), len(other.words))


def _compose(texts: list[str], request: DraftRequest) -> str:
    """Write the quotations under the required sections, in the format of the contract."""
    asked = list(request.spec.required_sections)
    before: list[str] = []
    if request.spec.response_format is ResponseFormat.MARKDOWN:
        steps = next((place for place, text in enumerate(texts) if has_steps(text)), None)
        if steps is None:
            asked = [section for section in asked if not section.for_steps]
        elif asked and asked[0].for_steps:
            before, texts = texts[:steps], texts[steps:]
    titles = [section.title.get(request.language, section.name) for section in asked]
    # The first section takes the answer itself; each further one takes a unit from the end.
    extra = min(max(len(titles) - 1, 0), len(texts) - 1)
    groups = [texts[: len(texts) - extra], *([text] for text in texts[len(texts) - extra :])]
    sections = dict(zip(titles or [""], groups, strict=False))
    return in_format({"": before, **sections} if before else sections, request.spec.response_format)


def _tell_continued(picked: Sequence[_Scored]) -> list[bool]:
    """Return of each unit whether the one before it stands under the same heading."""
    places = [(scored.unit.source, scored.unit.heading) for scored in picked]
    return [number > 0 and places[number - 1] == place for number, place in enumerate(places)]


def _tell_new_sections(picked: Sequence[_Scored]) -> list[bool]:
    """Return of each unit whether it begins another section of the passage that is being quoted."""
    units = [scored.unit for scored in picked]
    return [
        number > 0 and units[number - 1].source == unit.source and units[number - 1].heading != unit.heading
        for number, unit in enumerate(units)
    ]


def _quote(unit: Unit, question: str, *, introduced: bool, titled: bool) -> str:
    if titled and unit.lead and not _TITLE_OF_A_TAB.fullmatch(unit.lead):
        title = _cite(f"**{_section(unit)}**", f"[{unit.source}]")
        return f"{title}\n\n{_quote(unit, question, introduced=True, titled=False)}"
    mark = f"[{unit.source}]"
    if unit.body is None:
        return _cited_paragraph(unit.lead, mark, question, whole=False)
    lead = _lead(unit, introduced=introduced)
    if unit.body.kind in (BlockKind.CODE, BlockKind.TABLE) and LEFT_OUT in unit.body.text:
        lead = f"{lead}{LEFT_OUT}"
    body = _cited_body(unit.body, mark, question)
    said = [_cited_paragraph(lead, mark, question, whole=True)]
    section = _section(unit)
    bare = lead.rstrip(" *_")
    if unit.body.kind is BlockKind.STEPS and not introduced and bare and bare[-1] in ".!" and section[-1:].isalnum():
        said.append(_cite(f"{section}:", mark))
    return "\n\n".join(filter(None, (*said, body)))


def _lead(unit: Unit, *, introduced: bool) -> str:
    """Return what leads into a body: its own words, and its section's title where these say too little.

    Code and tables carry no citation, so they always have a line that does.
    """
    bare = unit.body is not None and unit.body.kind in (BlockKind.CODE, BlockKind.TABLE)
    if not tokens(unit.lead):
        return "" if introduced and not bare else f"{_section(unit)}:"
    if introduced or not _TITLE_OF_A_TAB.fullmatch(unit.lead):
        return unit.lead
    return f"{_section(unit)} — {unit.lead}"


def _section(unit: Unit) -> str:
    """Return the title of the section that a unit stands in, without its number."""
    parts = [part for heading in unit.heading.split(" — ") for part in heading.split(" › ") if tokens(part)]
    return _NUMBERING.sub("", parts[-1], count=1) if parts else unit.heading


def _is_cited(quote: str) -> bool:
    """Whether a quotation claims anything, all with a citation; odd text splits otherwise once a mark stands in it."""
    found = claims(quote)
    return bool(found) and all(claim.cites for claim in found)


def _is_whole(quote: str, unit: Unit, request: DraftRequest) -> bool:
    """Whether no name of a quotation has lost an address inside it: so shortened, it stands in no source."""
    if LEFT_OUT not in quote:
        return True
    item = request.evidence[unit.source - 1]
    source = f"{item.title}\n{item.heading}\n{item.snippet}"
    return not any(missing_from(claim.text, source) for claim in claims(quote))


def _cited_paragraph(text: str, mark: str, question: str, *, whole: bool) -> str:
    # A smiley or a dash between two sentences says nothing that could be cited.
    parts = [part for part in sentences(text) if tokens(part)]
    if not whole and len(text) > _LONG_PARAGRAPH and len(parts) > _SENTENCES:
        parts = _best_window(parts, question)
    return " ".join(_cite(part, mark) for part in parts)


def _best_window(parts: list[str], question: str) -> list[str]:
    """Return the run of sentences that shares most with the question: a run reads on, single ones do not."""
    asked = set(stems(question))
    hits = [len(asked.intersection(stems(part))) for part in parts]
    starts = range(len(parts) - _SENTENCES + 1)
    start = max(starts, key=lambda i: (sum(hits[i : i + _SENTENCES]), hits[i], -i))
    while start and _GOES_ON.match(parts[start]):
        start -= 1
    return parts[start : start + _SENTENCES]


def _cite(sentence: str, mark: str) -> str:
    """Put the mark before the closing punctuation, and behind the mark what stands for links that were left out.

    At its own place a note could be read as a part of a name: «Requests (link left out)».
    """
    if LEFT_OUT in sentence:
        sentence, mark = sentence.replace(LEFT_OUT, ""), f"{mark} {LEFT_OUT}"
    bare = sentence.rstrip()
    end = len(bare.rstrip(_CLOSING))
    # The semicolon of an entity (`&amp;`) is no punctuation.
    if bare[end : end + 1] == ";" and _ENTITY.fullmatch(bare, max(0, bare.rfind("&", 0, end)), end):
        end += 1
    return f"{bare[:end].rstrip()} {mark}{bare[end:]}"


def _cited_body(body: Block, mark: str, question: str) -> str:
    match body.kind:
        case BlockKind.STEPS:
            return "\n".join(_cited_item(item, mark) for item in body.parts)
        case BlockKind.BULLETS:
            whole = len(body.parts) <= _WHOLE_LIST and len(body.text) <= _LONG_BODY
            items = body.parts if whole else _choose_parts(body.parts, question)
            return "\n".join(_cited_item(_shorten_item(item, question), mark) for item in items)
        case BlockKind.TABLE:
            return _table(body, question)
        case _:
            return _close_fence(body.text)


def _shorten_item(item: str, question: str, depth: int = 0) -> str:
    """Return a long item of a list with its own words, and of a list inside it what is nearest to the question."""
    if len(item) <= _LONG_ITEM or depth > _DEEPEST:
        return item
    width = len(item) - len(_MARKER_ALONE.sub("", item, count=1)) if _MARKER_ALONE.match(item) else 0
    first, *rest = item.split("\n")
    inside = "\n".join((first[width:], *(re.sub(rf"^[ \t]{{0,{width}}}", "", line) for line in rest)))
    found = blocks(inside)
    if len(found) < 2 or found[0].kind is not BlockKind.PARAGRAPH:
        return item
    kept = [found[0].text]
    lists = [block for block in found[1:] if block.kind in (BlockKind.BULLETS, BlockKind.STEPS)]
    if found[0].text.rstrip(" *_").endswith(":") and lists:
        parts = _choose_parts(lists[0].parts, question)
        kept += ["\n".join(_shorten_item(part, question, depth + 1) for part in parts)]
    said = "\n\n".join(kept)
    return first[:width] + said.replace("\n", "\n" + " " * width)


def _close_fence(code: str) -> str:
    """Close a fence that its passage left open, for it would swallow what is quoted after it."""
    opening = re.match(r" {0,3}(`{3,}|~{3,})", code)
    last = code.rpartition("\n")[2] if "\n" in code else ""
    if not opening or re.fullmatch(rf" {{0,3}}{opening[1]}{opening[1][0]}*\s*", last):
        return code
    return f"{code}\n{opening[1]}"


def _cited_item(item: str, mark: str) -> str:
    """Put the mark at the end of each paragraph of an item, and of the items inside it; code stays whole."""
    lines = item.split("\n")
    if opening := _MARKER_AND_FENCE.match(lines[0]):
        # Code alone: the mark takes the item's first line, and the code begins on the next.
        marker, fence = opening.groups()
        return "\n".join((f"{marker}{mark}", " " * len(marker) + fence, *lines[1:]))
    if _MARKER_ALONE.fullmatch(lines[0]):
        # The full stop of a number alone is no punctuation.
        return "\n".join((f"{lines[0].rstrip()} {mark}", *lines[1:]))
    for start, end in reversed(paragraph_lines(item)):
        said = "\n".join(lines[start:end])
        if tokens(_MARKER_ALONE.sub("", said, count=1)):
            lines[start:end] = [_cite(said, mark)]
        elif LEFT_OUT in said:
            lines[start:end] = [f"{said.replace(LEFT_OUT, '').rstrip()} {mark} {LEFT_OUT}"]
    return "\n".join(lines)


def _table(body: Block, question: str) -> str:
    lines = body.text.split("\n")
    head, rows = lines[:2], list(body.parts[1:])
    whole = len(rows) <= _WHOLE_TABLE and len(body.text) <= 2 * _LONG_BODY
    kept = rows if whole else _choose_parts(tuple(rows), question)
    return "\n".join((*head, *kept)).replace(LEFT_OUT, "")


def _choose_parts(parts: tuple[str, ...], question: str) -> list[str]:
    """Return the parts that share most words with the question, in their own order; the first ones where none does."""
    asked = set(stems(question))
    hits = [len(asked.intersection(stems(part))) for part in parts]
    most = max(hits, default=0)
    if not most:
        return list(parts[:_WHOLE_TABLE])
    return [part for part, hit in zip(parts, hits, strict=True) if hit == most][:_WHOLE_TABLE]


@cache
def _phrases() -> dict[Language, dict[str, str]]:
    loaded = tomllib.loads(files("adapters.drafting").joinpath("phrases.toml").read_text("utf-8"))
    return {Language(name): phrases for name, phrases in loaded.items()}
