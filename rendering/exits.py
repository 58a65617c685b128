"""The texts at the end of a turn without an answer: refusals, questions, pages, hand-offs and errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from contracts.choices import Choice
from contracts.decisions.exits import Exit, ExitKind
from contracts.enums import Language, SGRAction, Source
from contracts.evidence import EvidenceItem, PageSentence
from contracts.plan import SGRPlanResult
from contracts.profile import Profile
from contracts.result import ShownPage
from rendering.answers import answer_sources, title_of, user_view, verified_answer, written_in
from rendering.synthetic import contact_of
from rendering.texts import inline, say, texts, write_numbered_list

_WANTING: Final = (
    ("not_found_figures", {"status_request_requires_db", "status_request_must_not_use_doc_as_primary"}),
    ("not_found_nothing", {"abstained"}),
    (
        "not_found_kinds",
        {
            "design_policy_requires_doc_or_policy",
            "troubleshooting_requires_db_and_neo4j",
            "knowledge_requires_doc_or_neo4j",
        },
    ),
    ("not_found_little", {"insufficient_evidence_count"}),
    ("not_found_loose", {"low_evidence_confidence", "low_source_diversity"}),
    ("not_found_doubtful", {"relevance_doubtful"}),
    ("not_found_beside", {"does_not_answer"}),
    ("not_found_values", {"value_not_in_cited_evidence"}),
    (
        "not_found_unproved",
        {
            "claim_without_citation",
            "citation_unresolvable",
            "claim_not_entailed",
            "claim_contradicted",
            "claim_changes_its_source",
            "claim_unlike_its_source",
            "value_used_wrongly",
            "clarification_without_question",
        },
    ),
)
"""What is said to be missing, by the names of reasons; the first that fits decides."""
_OWN_NUMBER: Final = re.compile(r"\[(\d{1,3})\]")
"""A number in brackets that a document has of its own: no citation of ours."""
_MOST_NAMED: Final = 3
_LONGEST_QUERY: Final = 120


def plain_exit(end: Exit, turn: Mapping[str, Any], language: Language, profile: Profile, *, limit: int) -> str:
    """Write a refusal, a decline, the plan's question, or an error.

    Args:
        end: The outcome of DT-008.
        turn: The state of the turn (the keys of `FinalView`).
        language: The user's.
        profile: The deployment's profile.
        limit: The length limit of a message, in characters.
    """
    contact = contact_of(profile, language)
    match end.kind:
        case ExitKind.OWN_UP if key := turn["error"].get("key"):
            return say(language, f"{end.text}_{key}", limit=f"{limit:,}")
        case ExitKind.OWN_UP:
            way_out = say(language, "turn_error_way_out", contact=contact)
            return say(language, end.text, node=turn["error"]["node"], way_out=way_out)
        case _ if end.text:
            return say(language, end.text, contact=contact, product=profile.product)
        case _:
            plan = SGRPlanResult.model_validate(turn["sgr_plan"])
            return user_view(turn, plan.user_intent, SGRAction(turn["action"]), language)


def minimal_question(key: str, drafted: str, queries: Sequence[str], language: Language) -> str:
    """Write the most helpful question after the text of a key: the drafted one, or which lookup the user means."""
    intro = texts(language)[key]
    if drafted:
        return f"{intro}\n\n{inline(drafted)}"
    return f"{intro}\n\n{say(language, 'minimal_question_lookups', searched=_list_searches(queries, language))}"


def what_is_missing(
    names: Iterable[str],
    queries: Sequence[str],
    language: Language,
    *,
    found: int = 0,
    figures: bool = False,
    unasked: Iterable[Source] = (),
    unclear: Sequence[str] = (),
    clauses: bool = False,
) -> str:
    """Say why there is no answer: the search queries, the words not found, and the sources that did not answer.

    Args:
        names: The names of the Guardian's reasons, without values: they may quote a draft that did not pass.
        queries: The search queries.
        language: The user's.
        found: The number of passages found.
        figures: Whether the user asked for a figure or a list of current states.
        unasked: The sources that did not answer.
        unclear: Words of the question that no document has.
        clauses: Whether it is the beginning of one sentence, without a full stop; else it is one or more sentences.
    """
    known = set(names)
    key = next((key for key, reasons in _WANTING if known & reasons), "")
    if key == "not_found_nothing" and figures:
        key = "not_found_figures"
    elif key == "not_found_little" and not found:
        key = "not_found_nothing"
    searched = _list_searches(queries, language)
    missing = say(language, key, searched=searched) if key and searched else texts(language)["not_found"]
    away = frozenset(unasked)
    note = say(language, "not_everything_searched", unasked=name_unasked(away, language)) if away else ""
    said = filter(None, (missing, unclear_text(unclear, language), note))
    return _as_clauses(said) if clauses else " ".join(said)


def _as_clauses(sentences: Iterable[str]) -> str:
    first, *others = (text.rstrip(".") for text in sentences)
    return "; ".join((first, *(f"{text[:1].lower()}{text[1:]}" for text in others)))


def unclear_text(words: Sequence[str], language: Language) -> str:
    """Say which words of a question the documents do not have; empty if they have each."""
    if not words:
        return ""
    *quoted, last = (_quote(word, language) for word in words)
    if not quoted:
        return say(language, "unclear_word", word=last)
    return say(language, "unclear_words", words=f"{', '.join(quoted)} {texts(language)['and']} {last}")


def choices_text(choices: Sequence[Choice], language: Language) -> str:
    """Write the numbered list of choices; empty if there are none."""
    if not choices:
        return ""
    return f"{texts(language)['choices_intro']}\n\n{write_numbered_list([inline(choice.label) for choice in choices])}"


def _list_searches(queries: Sequence[str], language: Language) -> str:
    return "; ".join(_quote(query, language) for query in queries[:_MOST_NAMED])


def _quote(text: str, language: Language) -> str:
    left, right = ("«", "»") if language is Language.RU else ("“", "”")
    return f"{left}{inline(text, _LONGEST_QUERY)}{right}"


def pages_text(
    key: str,
    why: str,
    pages: Sequence[PageSentence],
    evidence: Sequence[EvidenceItem],
    language: Language,
    profile: Profile,
) -> str:
    """Write pages that may help: the reason for no answer, a key's text, each page with its sentence, the sources."""
    draft = f"{texts(language)[key]}\n\n{_pages_draft(pages, evidence, language)}"
    # Where some pages are in the user's language, a note on the others would be one on all.
    foreign = all(written_in(evidence[page.number - 1]) not in (None, language) for page in pages)
    shown = verified_answer(draft, evidence, language, profile.allowed_link_domains, with_note=foreign)
    return f"{why}\n\n{shown}" if foreign else f"{why} {shown}"


def shown_pages(
    pages: Sequence[PageSentence], evidence: Sequence[EvidenceItem], language: Language, profile: Profile
) -> list[ShownPage]:
    """Return the pages of `pages_text` as data, with the same numbers."""
    cited = answer_sources(_pages_draft(pages, evidence, language), evidence, profile.allowed_link_domains)
    return [
        ShownPage.model_validate({**entry, "sentence": page.sentence, "ref": evidence[page.number - 1].ref})
        for entry, page in zip(cited, pages, strict=True)
    ]


def _pages_draft(pages: Sequence[PageSentence], evidence: Sequence[EvidenceItem], language: Language) -> str:
    return "\n".join(
        say(
            language,
            "page_line",
            title=" — ".join(filter(None, map(inline, title_of(evidence[page.number - 1])))),
            sentence=_OWN_NUMBER.sub(r"\\[\1\\]", page.sentence),
            number=page.number,
        )
        for page in pages
    )


def source_names(sources: Iterable[Source], language: Language) -> str:
    """Name kinds of sources for people."""
    kinds = frozenset(sources)
    *names, last = [texts(language)[f"source_{source}"] for source in Source if source in kinds] or [""]
    return f"{', '.join(names)} {texts(language)['and']} {last}" if names else last


def name_unasked(sources: frozenset[Source], language: Language) -> str:
    key = "unasked_one" if len(sources) == 1 else "unasked_many"
    return say(language, key, sources=source_names(sources, language))
