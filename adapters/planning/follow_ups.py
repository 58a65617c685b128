"""Follow-up questions, which say only what differs from the previous question: "And on Windows?", «А профиль?»."""

from __future__ import annotations

import re
from typing import Final

from adapters.planning.clarification import name_in, object_of
from language.lexicon import is_casual, is_vague
from language.message import named_in
from language.patterns import read_wording
from language.words import stems, tokens

_WORDING: Final = read_wording(__name__)

_LONGEST: Final = 10
"""Words; what is longer says all that it means."""
_GOES_ON: Final = _WORDING.pattern("goes_on")
_PLACE: Final = _WORDING.pattern("place")
_ASKS_ITSELF: Final = _WORDING.pattern("asks_itself")
_DOES: Final = _WORDING.pattern("does")
_ENOUGH: Final = 3
"""Content words of a condition that can be searched for by themselves."""
_BARE: Final = _WORDING.pattern("bare")
_PRONOUN: Final = _WORDING.pattern("pronoun")
_NO_PRONOUN: Final = _WORDING.pattern("no_pronoun")
_NAMES_ANOTHER: Final = _WORDING.pattern("names_another")


def gone_on(message: str, before: str, spoken_of: str = "") -> str:
    """Return the whole question that a follow-up means; the message itself if it is whole.

    A place replaces a place with the same preposition; if there is none, it is appended to the question, as a
    condition is. A name or a verb replaces the earlier one. A pronoun is replaced by the subject of the earlier
    question; if that was not one clear thing, the pronoun stays.

    Args:
        message: The newest.
        before: The question that was answered last, whole.
        spoken_of: The earlier subject of the conversation; it counts only if that question also says it.
    """
    if len(tokens(message)) > _LONGEST:
        return message
    asked = before.strip().rstrip("?？.! ")
    named = thing_of(before, spoken_of)
    if bare := _BARE.match(message):
        return _with_a_thing(bare, asked, named)
    said = _GOES_ON.match(message)
    if said is None or _ASKS_ITSELF.match(rest := said["rest"].strip(" .,!")):
        return _with_pronoun(message, named)
    if said["if"]:
        condition = f"{said['if'].split()[-1]} {rest}"
        whole = "," in rest or len(named_in(rest)) >= _ENOUGH or len(tokens(asked)) > _LONGEST
        return message if whole else f"{asked}, {condition}?"
    return message if is_casual(rest) else _with_other(message, rest, asked, named)


def thing_of(question: str, spoken_of: str = "") -> str:
    """Return the one thing that a question is about, or the earlier subject if the question also says it."""
    return object_of(question) or (spoken_of if spoken_of and spoken_of in question else "")


def _with_other(message: str, rest: str, asked: str, named: str) -> str:
    """Put another place, another name or another verb into the question before."""
    if _DOES.match(rest):
        return f"Как {rest} {named}?" if named else message
    if (pointing := _with_pronoun(message, named)) != message or is_vague(rest):
        return pointing
    if place := _PLACE.match(rest):
        return _with_place(rest, place["place"], asked)
    # "The port" may be a part of what was asked about as well as another such thing.
    if named and name_in(rest) and rest.lower().startswith("the "):
        return f"{asked}, {rest}?"
    if named and name_in(rest) and named in asked:
        return f"{asked.replace(named, rest)}?"
    # More than one word can be searched for; one says too little.
    return f"{asked}, {rest}?" if name_in(rest) and len(stems(rest)) == 1 else message


def _with_place(rest: str, preposition: str, asked: str) -> str:
    same = list(re.finditer(rf"(?<!\w){preposition}\s+[\w.+#-]+", asked, re.IGNORECASE))
    if same:
        return f"{asked[: same[-1].start()]}{rest}{asked[same[-1].end() :]}?"
    return f"{asked} {rest}?"


def _with_a_thing(bare: re.Match[str], asked: str, named: str) -> str:
    """Return a question that names nothing with what the one before was about."""
    said = bare.group().strip(" ?？.!")
    place = "it" if bare["it"] else "это"
    if named and bare[place] and not (bare["takes"] or bare["займёт"]):
        return f"{said[: bare.start(place)]}{named}{said[bare.end(place) :]}?"
    return f"{said}: {asked}?"


def _with_pronoun(message: str, named: str) -> str:
    """Put a name in the place of the only pronoun of a question; the question itself where it may be another's."""
    found = list(_PRONOUN.finditer(message))
    if not named or len(found) != 1 or _NO_PRONOUN.search(message) or not message.rstrip().endswith(("?", "？")):
        return message
    (pronoun,) = found
    ahead = message[: pronoun.start()]
    if _NAMES_ANOTHER.search(ahead) or len(named_in(ahead)) > 1:
        return message
    return f"{ahead}{named}{message[pronoun.end() :]}"
