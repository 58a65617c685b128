"""What the user reads at the end of a turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from contracts.decisions import OUTPUT
from contracts.evidence import EvidenceItem
from contracts.profile import Profile
from contracts.report import HandOff
from contracts.values import Channel, Delivery, Language, SGRAction, Source
from language.blocks import split_code
from language.links import foreign_links
from rendering.synthetic import contact_of
from rendering.texts import bullets, inline, say, texts

_CITATION = re.compile(r"\[(\d{1,3})\]")

# An escaped character, or what begins a tag or a comment, closed or not; an address in angle brackets is none.
_TAG = re.compile(r"\\.|<(?=[A-Za-z/!?])(?!https?://[^\s<>\"'`]*>)", re.DOTALL | re.IGNORECASE)
_TURNS_TEXT = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))

_NOT_IN_ADDRESSES = re.compile(r"[\s<>\[\]`*|\\\"]")


def verified_answer(
    draft: str, evidence: Sequence[EvidenceItem], language: Language, allowed_domains: Sequence[str] = ()
) -> str:
    """Write a draft that passed, with the list of the sources it cites.

    Citations are renumbered in order of appearance, so that the list has no gaps, and passages of one section
    are one source; a row of a graph or a database about it is another. HTML outside of code is shown as text, and nothing turns the direction of reading. A document's
    address is shown where it leads to an allowed domain, or is a path. Where a cited document is in another
    language than the answer, a line says so.
    """
    places = {number: (item.source, item.document_key, item.heading) for number, item in enumerate(evidence, 1)}
    order: dict[tuple[Source, str, str], int] = {}

    def renumber(match: re.Match[str]) -> str:
        place = places.get(int(match.group(1)))
        return f"[{order.setdefault(place, len(order) + 1)}]" if place else match.group()

    parts = split_code(_without_html(draft.translate(_TURNS_TEXT).strip()))
    text = "".join(part if i % 2 else _CITATION.sub(renumber, part) for i, part in enumerate(parts))
    if not order:
        return text
    first = {places[number]: item for number, item in reversed(list(enumerate(evidence, 1)))}
    cited = [(number, first[place]) for place, number in order.items()]
    lines = [
        f"**{texts(language)['sources_heading']}**",
        "",
        *(f"- {source_line(n, item, language, allowed_domains)}" for n, item in cited),
    ]
    return "\n\n".join(filter(None, (_language_note(cited, language), text, "\n".join(lines)))).translate(_TURNS_TEXT)


def _without_html(markdown: str) -> str:
    """Return Markdown in which HTML outside of code is text; code stays as it is."""

    def shown(match: re.Match[str]) -> str:
        return "&lt;" if match.group() == "<" else match.group()

    while True:
        parts = split_code(markdown)
        text = "".join(part if i % 2 else _TAG.sub(shown, part) for i, part in enumerate(parts))
        # Without its tags a text may have other blocks: what was code behind a comment is now prose.
        if text == markdown:
            return text
        markdown = text


def source_line(number: int, item: EvidenceItem, language: Language, allowed_domains: Sequence[str] = ()) -> str:
    """Write one source: title, heading inside it, where it is, version, and its kind where it is no plain document."""
    inside = item.heading.removeprefix(item.title).strip(" ›/>")
    title = " — ".join(filter(None, (inline(item.title or item.ref), inline(inside))))
    # An address is data, too: what could end it or begin mark-up is written as an address writes it.
    # Without an address that may be shown, a document is found by its file.
    shown = item.url if item.url and not foreign_links(item.url, allowed_domains) else item.document
    url = _NOT_IN_ADDRESSES.sub(lambda match: quote(match.group()), shown)
    kind = "" if item.source is Source.DOC else f", {texts(language)[f'cited_{item.source}']}"
    version = f", {say(language, 'cited_version', version=inline(item.version))}" if item.version else ""
    place = f" ({url})" if url else ""
    return say(language, "source_line", number=number, title=title, place=f"{place}{version}{kind}")


def _language_note(cited: Sequence[tuple[int, EvidenceItem]], language: Language) -> str:
    others = {item.language for _, item in cited if item.language and item.language is not language}
    if not others:
        return ""
    name = texts(language)[f"language_{min(others)}"]
    return f"_{say(language, 'source_language_note', language=name)}_"


def user_view(intent: str, response: str, action: SGRAction, language: Language) -> str:
    """Write what the user sees of a plan that ends the turn: DT-004's row of the user interface."""
    shown = OUTPUT.decide(channel=Channel.USER_INTERFACE, action=action).outcome
    lead = f"**{texts(language)['user_intent_prefix']}** {inline(intent)}" if shown.user_intent and intent else ""
    return "\n\n".join(filter(None, (lead, response)))


def refusal(key: str, language: Language, profile: Profile) -> str:
    """Write a refusal by its text's key."""
    return say(language, key, contact=contact_of(profile, language), product=profile.product)


def minimal_question(question: str, language: Language, profile: Profile, unasked: Iterable[Source] = ()) -> str:
    """Write the one question that would help; the drafted one, as words, where there is one.

    Our own says that the documents do not answer, so it says as well which sources could not be asked.
    """
    intro = texts(language)["minimal_question_intro"]
    if drafted := inline(question.translate(_TURNS_TEXT)):
        return f"{intro}\n\n{drafted}"
    away = frozenset(unasked)
    note = say(language, "minimal_question_unasked", unasked=_away(away, language)) if away else ""
    return "\n\n".join(filter(None, (intro, note, say(language, "minimal_question", product=profile.product))))


def source_names(sources: Iterable[Source], language: Language) -> str:
    """Name kinds of sources for people."""
    kinds = frozenset(sources)
    *names, last = [texts(language)[f"source_{source}"] for source in Source if source in kinds] or [""]
    return f"{', '.join(names)} {texts(language)['and']} {last}" if names else last


def _away(sources: frozenset[Source], language: Language) -> str:
    key = "unasked_one" if len(sources) == 1 else "unasked_many"
    return say(language, key, sources=source_names(sources, language))


def hand_off_text(
    record: HandOff,
    language: Language,
    profile: Profile,
    key: str,
    unasked: Iterable[Source] = (),
    delivery: Delivery | None = None,
) -> str:
    """Write what the user reads when a person takes over.

    The text's key says why: asked for, by a rule, because sources could not be asked, or else. Where nobody took the
    record, the user is told to pass it on.
    """
    body = "\n\n".join(
        (
            say(language, "record_summary", value=record.issue_summary),
            say(language, "record_done", value=bullets(record.steps_completed)),
            say(language, "record_next", value=bullets(record.next_steps)),
        )
    )
    why = say(language, key, contact=contact_of(profile, language), unasked=_away(frozenset(unasked), language))
    passing = {None: "pass_on_yourself", Delivery.DELIVERED: "passed_on", Delivery.KEPT: "will_be_passed_on"}[delivery]
    return f"{why} {texts(language)[passing]}\n\n{body}"


def with_delivery(text: str, delivery: Delivery, language: Language) -> str:
    """Add to a refusal or to an error that people learn of it."""
    key = "also_passed_on" if delivery is Delivery.DELIVERED else "will_also_be_passed_on"
    return f"{text} {texts(language)[key]}"


def error_text(node: str, way_out: str, language: Language, profile: Profile) -> str:
    """Write what the user reads where a turn broke."""
    default = say(language, "turn_error_way_out", contact=contact_of(profile, language))
    return say(language, "turn_error", node=node, way_out=way_out or default)
