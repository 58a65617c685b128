"""What a text asks: the question in it, and what it states besides."""

from __future__ import annotations

import re
from typing import Final

from language.sentences import sentences

_SPLIT: Final = re.compile(r"[;:—–(]\s*|,\s+|\s+-\s+")
_STARTS: Final = re.compile(
    r"\W{0,8}(?:(?:and|or|but|so|а|и|но|или|в|на|с|от|для|о|об|по|из|за|до|к|у)\s+)?"
    r"(?:which|what|where|when|who|whom|whose|why|how|is|are|was|were|am|do|does|did|will|would|can|could|shall|should"
    r"|may|might|has|have|had|на?сколько|сколько|как\w{0,4}|котор\w+|что|чт?о\w{0,2}|чем|чего|чему|где|куда|откуда|когда"
    r"|кто|кого|кому|кем|чей|чья|чье|чьи|почему|зачем|ли)(?!\w)"
    r"|\W{0,8}[\w-]{1,40}\s+ли(?!\w)",
    re.IGNORECASE,
)


def question_of(text: str) -> str:
    """Return the interrogative clause of a text, its last question without what it states besides; empty without one.

    "Your account is deleted; will you stay?" has "will you stay?". A clause counts where it begins as a question does.
    Russian asks by intonation, too: a sentence of one clause with a question mark is a question. What states something
    in the form of a question has none: "Did you know that your account is deleted?", "Which is it, your account is
    deleted?".
    """
    asked = [one for one in sentences(text) if one.rstrip(" *_\"»”)'").endswith("?")]
    if not asked:
        return ""
    last = asked[-1].strip()
    cuts = [0, *(match.end() for match in _SPLIT.finditer(last))]
    start = next((start for start in cuts if _STARTS.match(last, start)), None)
    if start is None:
        by_intonation = len(cuts) == 1 and re.search("[а-яё]", last, re.IGNORECASE)
        return last if by_intonation and not _STATES.search(last) else ""
    clause = last[start:].strip()
    behind = (last[begin:end] for begin, end in zip(cuts, [*cuts[1:], None], strict=True) if begin > start)
    if _STATES.search(clause) or any(map(_is_statement, behind)):
        return ""
    return clause if start == 0 else clause[:1].upper() + clause[1:]


def states(gap: str) -> bool:
    """Whether words that name what is unclear state something instead: "your account is deleted"."""
    return bool(
        _STATES.search(gap)
        or re.match(
            r"\W{0,8}(?:your|the|this|it|ваш\w{0,3})\b[^?]{0,80}?(?:\b(?:is|are|was|were|has been|have been|will be)\b|(?<!\w)\w+(?:[её]н|[её]на|[её]ны|ыт|ыта|ыты)(?!\w))",
            gap,
            re.IGNORECASE,
        )
    )


_STATES: Final = re.compile(
    # The assistant does not speak of itself in a question, and tells no news in one.
    r"(?<!\w)(?:we|our|us|мы|нами?|нас|наш\w{0,3})(?!\w)"
    r"|\b(?:know|aware|heard|notice|noticed|realise|realize|remember|told|informed|agree|understand)\s+(?:that\b|(?:your|the)\b[^?]{0,60}?\b(?:is|are|was|were|has|have|had|will)\b)"
    r"|(?<!\w)(?:знаете|знали|слышали|курсе|понимаете|известно|помните|сообщали|согласны)(?!\w)[^?]{0,20},?\s+что(?!\w)"
    r"|\b(?:and|but|so|because|since|while|although|as|that)\s+(?:your|the|this|it|they|support)\b[^?]{0,60}?\b(?:is|are|was|were|has|have|had|will)\b"
    r"|(?<!\w)(?:и|а|но|ведь|потому что|так как|поскольку)\s+(?:ваш\w{0,3}|поддержк\w|служб\w|вам|вас|вы)(?!\w)",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(
    r"\W{0,8}(?:or|and|for example|such as|e\.g\.|if|when|where|или|либо|например|и|если|когда|где|котор\w{2,4}|что|то есть)(?!\w)",
    re.IGNORECASE,
)
_HAS_SUBJECT: Final = re.compile(
    r"\b(?:your|you|it|they|he|she|this|that|i|my|is|are|was|were|am|has|have|had|will|would|did|does|do|must|can|\w+ed)\b"
    r"|(?<!\w)(?:ваш\w{0,3}|вы|вам|вас|он|она|оно|они|я|это|теперь|уже|больше)(?!\w)"
    r"|(?<!\w)\w{2,}(?:[её]н|[её]на|[её]но|[её]ны|ан|ана|ано|аны|ыт|ыта|ыто|ыты|ит|ет|ют|ят|ась|ись|ось)(?!\w)",
    re.IGNORECASE,
)


def _is_statement(part: str) -> bool:
    """Whether a part of a sentence behind its question says something of its own: "..., your account is deleted"."""
    return not (_GOES_ON.match(part) or _STARTS.match(part)) and bool(_HAS_SUBJECT.search(part))
