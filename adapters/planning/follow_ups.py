"""Questions that go on from the one before and say only what is other about them: "And on Windows?", «А профиль?»."""

from __future__ import annotations

import re
from typing import Final

from adapters.planning.clarification import name_in, object_of
from language.lexicon import is_casual, is_vague
from language.message import named_in
from language.words import stems, tokens

_LONGEST: Final = 10
"""Words; what is longer says all that it means."""
_GOES_ON: Final = re.compile(
    r"^\W{0,9}(?:(?:ok|okay|well|ладно|хорошо|понятно|ясно|спасибо|thanks)\W{1,9})?"
    r"(?:(?P<if>(?:(?:and|but)\s{1,9})?(?:what\s{1,9})?if|(?:(?:а|и|но)\s{1,9})?(?:что\s{1,9})?если)"
    r"|(?:and|but)\s{1,9}(?:what|how)\s{1,9}about|what\s{1,9}about|how\s{1,9}about|and|but"
    r"|а\s{1,9}(?:что|как)\s{1,9}насч[её]т|(?:что|как)\s{1,9}насч[её]т|а|и|но)\s{1,9}(?P<rest>[^?？\n]{1,120})[?？]?\W{0,9}$",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(
    r"^(?P<place>on|in|for|with|without|at|from|to|by|via|на|в|во|для|с|со|без|из|от|по|при|через|к|у)\s{1,9}\S",
    re.IGNORECASE,
)
_ASKS_ITSELF: Final = re.compile(
    r"^(?:how|what|where|when|why|which|who|can|could|is|are|do|does|did|should|will|как|что|где|когда|почему|зачем|какой|какая|какие|какое|кто|куда|откуда|сколько|можно|есть|нужно|чем)\b",
    re.IGNORECASE,
)
_DOES: Final = re.compile(r"^[а-яё]{2,30}(?:ть|ти|чь|ться|тись)$", re.IGNORECASE)
"""A verb alone: «А отозвать?»."""
_ENOUGH: Final = 3
"""Content words of a condition that can be searched for by themselves."""
_BARE: Final = re.compile(
    r"^\W{0,9}(?:(?:and|but|so|а|и|но)\W{1,9})?(?:"
    r"(?:where|when|how\s+(?:long|much|many|often))(?:(?:\s+(?:is|are|does|do|can|will|did|would)){1,2}"
    r"(?:\s+(?P<it>it|that|this|they|these|those)(?:\s+(?P<takes>take|cost|last))?)?)?"
    r"|(?:где|когда|куда|сколько(?:\s+(?:времени|раз|дней))?|как\s+(?:долго|часто))(?:\s+(?P<это>это|этот|эта|эти|он|она|оно|они))?"
    r"(?:\s+(?P<займёт>(?:займ[её]т|занимает|длится|продлится|стоит|будет\s+стоить)(?:\s+времени)?))?"
    r")\W{0,9}$",
    re.IGNORECASE,
)
"""A question without a thing of its own: "where is that?", «А сколько?», "How long does it take?"."""
_PRONOUN: Final = re.compile(
    r"(?<!\w)(?:it|they|them|он|она|оно|они|его|ему|её|ее|ей|их|им|ними?|него|нему|нём|нем|неё|нее|ней|них)(?!\w)",
    re.IGNORECASE,
)
_NO_PRONOUN: Final = re.compile(
    r"\b(?:it\s+(?:possible|true|takes?|worth|normal|safe|okay|ok|enough|says?|work|works|run|runs|support|supports|know|knows|speak|speaks|handle|send|read|answer|understand|translate|remember)"
    r"|она?\s+(?:умеет|знает|поддерживает|понимает|помнит|пишет|говорит|отвечает|работает))\b",
    re.IGNORECASE,
)
"""Nobody's "it", and what is said of the product as a whole."""
_NAMES_ANOTHER: Final = re.compile(r"[,;:(]|(?<!\w)(?:a|an|the|my|our|your|some|any|each|every)\s", re.IGNORECASE)
"""In front of a pronoun: it may stand for what is named there."""


def gone_on(message: str, before: str, spoken_of: str = "") -> str:
    """Return the whole question that a message means after another one; the message itself where it is whole.

    A place takes the place of one with the same preposition, and stands behind the question where there is none, as a
    condition does; a name or a verb takes the place of the other's; what the question before was about stands for a
    pronoun. Where that was not one plain thing, a pronoun stays.

    Args:
        message: The newest.
        before: The question that was answered last, whole.
        spoken_of: What the talk was about until then; it counts where that question says it, too.
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
    """Return the one thing that a question is about, or what was spoken of before where the question says that, too."""
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
