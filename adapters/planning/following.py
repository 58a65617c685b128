"""Questions that go on from the one before and say only what is other about them: "And on Windows?", «А профиль?»."""

from __future__ import annotations

import re
from typing import Final

from adapters.planning.asking_back import name_in, object_of
from language.lexicon import is_casual, is_vague
from language.words import tokens

_LONGEST: Final = 7
"""Words; what is longer says all that it means."""
_GOES_ON: Final = re.compile(
    r"^\W{0,9}(?:(?:ok|okay|well|ладно|хорошо|понятно|ясно|спасибо|thanks)\W{1,9})?"
    r"(?:(?:and|but)\s{1,9}(?:what|how)\s{1,9}about|what\s{1,9}about|how\s{1,9}about|and(?:\s{1,9}if)?|but"
    r"|а\s{1,9}(?:что|как)\s{1,9}насч[её]т|(?:что|как)\s{1,9}насч[её]т|а\s{1,9}если|а|и|но)\s{1,9}(?P<rest>[^?？\n]{1,120})[?？]?\W{0,9}$",
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


def gone_on(message: str, before: str) -> str:
    """Return the whole question that a message means after another one; the message itself where it is whole.

    A place or a circumstance takes the place of one with the same preposition, and stands behind the question where
    there is none; a name takes the place of what the question before was about.

    Args:
        message: The newest.
        before: The question that was answered last.
    """
    said = _GOES_ON.match(message)
    if said is None or len(tokens(message)) > _LONGEST:
        return message
    rest = said["rest"].strip(" .,!")
    if _ASKS_ITSELF.match(rest) or is_casual(rest) or is_vague(rest):
        return message
    asked = before.strip().rstrip("?？.! ")
    if place := _PLACE.match(rest):
        same = list(re.finditer(rf"(?<!\w){place['place']}\s+[\w.+#-]+", asked, re.IGNORECASE))
        if same:
            return f"{asked[: same[-1].start()]}{rest}{asked[same[-1].end() :]}?"
        return f"{asked} {rest}?"
    named = object_of(before)
    if named and name_in(rest) and named in asked:
        return f"{asked.replace(named, rest)}?"
    return message
