"""Clarification questions: the choices offered, the words that no document has, and the choice that a reply made."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Final, Literal

from contracts.choices import LONGEST_LABEL, MOST_HEADINGS, NO_CHOICE, Choice, ChoiceKind
from contracts.enums import Language, PolicyStatus, RequestType, SGRAction, Source
from contracts.evidence import EvidenceItem
from contracts.lookups import Lookup
from contracts.plan import SGRPlanResult
from contracts.profile import Profile
from guards.policy_check import check_answer, check_request
from language import lexicon
from language.attacks.demands import question_asks_for_secrets
from language.clean import fold
from language.envelope import own_words
from language.figures.ordinals import LAST, number_named
from language.message import questions_and_context
from language.patterns import read_wording
from language.privacy.personal_data import personal_data
from language.privacy.secrets import secrets
from language.privacy.spans import MARK, replace_spans
from language.words import rephrase, stem, stems, tokens

_WORDING: Final = read_wording(__name__)

OF_DOCUMENTS: Final = frozenset({Source.DOC, Source.POLICY})
_MOST_NAMED: Final = 3
_LONGEST_ASKED: Final = 1000
_LONGEST_TERM: Final = 8
"""Characters of a term with digits in it: "OAuth2"."""
_LONGEST_REPLY: Final = 200
"""Characters of a message that may be the name of a choice."""
_ASKS_FOR_A_NUMBER: Final = _WORDING.pattern("asks_for_a_number")
_NUMBERED: Final = re.compile(r"^\s{0,9}\d{1,2}[.)]\s{1,9}(?=\S)")
"""Before a line that was copied from the list."""
_ADDRESS: Final = re.compile(r"\S*[/\\@=]\S*|`[^`]*`")
_PERSON: Final = _WORDING.words("person")
_SURE, _LOST = 0.9, 0.3


# --------------------------------------------------------------------------------------------------- what is offered


def nearest_headings(asked: str, items: Iterable[EvidenceItem], profile: Profile, role: str) -> list[Choice]:
    """Return up to three sections to choose from; those with a telling word of the question in their name come first.

    Otherwise they keep the search order. A section is offered if it has such a word, and if the role may see its name
    and ask for it.

    Args:
        asked: What the user asked.
        items: The evidence found for it, masked.
        profile: The profile with the policy that a name must pass.
        role: Of the user.
    """
    telling = telling_words(asked)
    found: dict[str, Choice] = {}
    for item in items:
        heading = item.heading.removeprefix(item.title).strip(" ›/>")
        label = " ".join(" — ".join(filter(None, (item.title, heading))).split())
        if item.source not in OF_DOCUMENTS or telling.isdisjoint(stems(f"{label} {item.snippet}")):
            continue
        if not may_be_offered(label, item.source, profile, role):
            continue
        choice = Choice(
            kind=ChoiceKind.HEADING,
            label=label,
            asks=label,
            title=item.title,
            heading=heading,
            url=item.url or "",
            ref=item.ref,
            source=item.source,
        )
        found.setdefault(_plain(label), choice)
    return sorted(found.values(), key=lambda choice: telling.isdisjoint(stems(choice.label)))[:MOST_HEADINGS]


def telling_words(asked: str) -> frozenset[str]:
    """Return the stems of a question that name its subject: without them no section is nearer than another."""
    return frozenset(stems(asked)) - lexicon.vague_stems() - lexicon.light_stems() - lexicon.asking_stems()


def may_be_offered(label: str, source: Source, profile: Profile, role: str) -> bool:
    """Whether a role may see the name of a section in a kind of source, and ask for it."""
    if not stems(label) or len(label) > LONGEST_LABEL or MARK.search(label) or question_asks_for_secrets(label):
        return False
    found = (check_answer(label, profile, role, shown=(label,)), check_request(label, _type_of(source), profile, role))
    return all(finding.status is PolicyStatus.OK for finding in found)


def named_lookups(lookups: Sequence[Lookup], language: Language) -> list[Choice]:
    """Return lookups to choose from; each asks the first of its example questions."""
    return [
        Choice(kind=ChoiceKind.LOOKUP, label=title, asks=asked[:300], source=lookup.source)
        for lookup in lookups[:MOST_HEADINGS]
        for title in [lookup.title.get(language) or next(iter(lookup.title.values()))]
        for asked in (lookup.answers.get(language) or next(iter(lookup.answers.values())))[:1]
        if 0 < len(title) <= LONGEST_LABEL
    ]


def takes_a_number(question: str) -> bool:
    """Whether the answer to a question may be a number, so that a reply could be mistaken for a choice's number."""
    return bool(_ASKS_FOR_A_NUMBER.search(question))


# ------------------------------------------------------------------------------------------------- what no document has


def words_to_look_for(message: str) -> str:
    """Return what a message asks, without secrets, personal data, addresses and code: their words are never named."""
    asked = " ".join(one.text for one in questions_and_context(own_words(message[: 4 * _LONGEST_ASKED])))
    fit, _ = replace_spans(asked[:_LONGEST_ASKED], lambda text: [*secrets(text), *personal_data(text)])
    return _ADDRESS.sub(" ", MARK.sub(" ", fit))


def unclear_words(text: str, unknown: Collection[str], profile: Profile) -> tuple[str, ...]:
    """Return up to three words of a question to report as missing in the documents, names first.

    Names and terms always count. Ordinary words count only if the documents know at least as many words of the
    question; otherwise the documents are in another language. Words of asking, words for symptoms, and words with a
    synonym in the profile do not name what is asked for.

    Args:
        text: As `words_to_look_for` returns it.
        unknown: Its words that no document has.
        profile: The profile with the synonyms.
    """
    idle = lexicon.vague_stems() | lexicon.light_stems() | lexicon.asking_stems() | set(stems(profile.product))
    words = [
        word
        for word in dict.fromkeys(unknown)
        if not _is_id(word) and stem(fold(word)) not in idle and rephrase([word], profile.synonyms) == [word]
    ]
    names = [word for word in words if _is_name(word, text)]
    others = [word for word in words if word not in names and len(word) > 3]
    known = set(stems(text)) - idle - {stem(fold(word)) for word in unknown}
    return tuple([*names, *(others if len(known) >= max(1, len(others)) else ())][:_MOST_NAMED])


def _is_id(word: str) -> bool:
    """Whether a word is an id or a key rather than a term."""
    return any(map(str.isdigit, word)) and len(word) > _LONGEST_TERM


def _is_name(word: str, text: str) -> bool:
    """Whether a word is written as a name or a term is: with capitals inside a sentence, or in Latin letters in Russian."""
    inside = bool(re.search(rf"[^\W_][^.!?\n]*[\s(«\"“]{re.escape(word)}(?!\w)", text))
    if any(map(str.isupper, word[1:])) or (word[:1].isupper() and inside):
        return True
    return word.isascii() and bool(re.search("[а-яё]", text, re.IGNORECASE))


# --------------------------------------------------------------------------------------------------- what a reply chose


def choice_in(message: str, offered: Sequence[Choice]) -> Choice | Literal["none"] | None:
    """Return the choice of a reply: by number, by name (with at most a typing error in a word), or a person.

    Args:
        message: The user's.
        offered: In the order in which they were numbered.

    Returns:
        The choice; `NO_CHOICE` if the reply is a number that no choice has; `None` if it is something else.
    """
    if not offered or len(message) > _LONGEST_REPLY:
        return None
    message = _NUMBERED.sub("", message)
    said = _plain(message)
    if same := next((one for one in offered if _plain(one.label) == said), None):
        return same
    if (number := number_named(message)) is not None:
        place = len(offered) if number == LAST else number
        return offered[place - 1] if 1 <= place <= len(offered) else NO_CHOICE
    if (person := next((one for one in offered if one.kind is ChoiceKind.PERSON), None)) and _means_a_person(message):
        return person
    asks = message.rstrip().endswith("?")
    found = [
        one
        for one in offered
        # A question is one of its own, unless the heading is one.
        if asks <= ("?" in one.label) and any(_same_name(message, name) for name in _names(one, offered))
    ]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    return " ".join(tokens(text))


def _means_a_person(message: str) -> bool:
    words = set(stems(message))
    return bool(words) and words <= _person_stems()


@cache
def _person_stems() -> frozenset[str]:
    return frozenset(map(stem, _PERSON)) | frozenset(stems("please пожалуйста"))


def _names(choice: Choice, offered: Sequence[Choice]) -> Iterable[str]:
    """Return what a choice may be called: its label, and its heading, or its page, where no other has the same."""
    yield choice.label
    for name in (choice.heading, choice.title):
        if name and sum(_plain(name) in (_plain(one.heading), _plain(one.title)) for one in offered) == 1:
            yield name


def _same_name(message: str, name: str) -> bool:
    """Whether a message has the words of a name and no others, whatever their endings, with one slip in a longer word."""
    said, wanted = list(dict.fromkeys(stems(message))), list(dict.fromkeys(stems(name)))
    if not said or len(said) != len(wanted):
        return False
    left = [word for word in said if word not in wanted]
    missing = [word for word in wanted if word not in said]
    return len(left) <= 1 and all(map(_is_slip_of, left, missing))


def _is_slip_of(said: str, meant: str) -> bool:
    """Whether two words of four letters or more differ by one letter more, less, other, or by two that changed places."""
    if min(len(said), len(meant)) < 4 or abs(len(said) - len(meant)) > 1:
        return False
    same = next((n for n, (a, b) in enumerate(zip(said, meant, strict=False)) if a != b), min(len(said), len(meant)))
    a, b = said[same:], meant[same:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


# ----------------------------------------------------------------------------------------------- what follows from that


def plan_of_choice(
    kind: str, source: Source | None, asked: str, *, intent: str, because: str, question: str, language: Language
) -> SGRPlanResult:
    """Return the plan of a reply that chose a section, a person, or an unknown number; no model is asked.

    Args:
        kind: Of the choice, or `NO_CHOICE`.
        source: Of the section.
        asked: What is asked now: the section's name, or what was asked before.
        intent: The intent that the user reads.
        because: Why the request is in scope.
        question: The clarification question; empty if a person takes over instead.
        language: Of the answer.
    """
    again = kind == NO_CHOICE and bool(question)
    return SGRPlanResult(
        spam_score=0.0,
        spam_reason=because[:150],
        user_intent=intent[:300],
        topic=lexicon.infer_topic(asked)[:150] or None,
        category=lexicon.infer_category(asked, language),
        answer_language=language,
        request_type=_type_of(source),
        subqueries=[" ".join(asked.split())[:300] or intent[:300]],
        intent_confidence=_LOST if again else _SURE,
        action=SGRAction.CLARIFY if again else SGRAction.NORMAL,
        clarification_question=question if again else None,
        wants_human=kind != ChoiceKind.HEADING and not again,
    )


def _type_of(source: Source | None) -> RequestType:
    """Return the request type by which a section may be searched for: policies are no required source of knowledge."""
    return RequestType.HOWTO_POLICY if source is Source.POLICY else RequestType.KNOWLEDGE_QA
