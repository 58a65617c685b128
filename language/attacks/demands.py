"""Demands in a text to its reader for credentials, codes or money.

The patterns are ours. They match requests ("send us your password", «пришлите код из SMS»), not topics: "how do I reset
my password?" requests nothing, and neither does "Enter your password and press Sign in".

A request has a frame and an object. Frames are ways to ask: tell us, we need, we wait for, confirm. Frames that manuals
also use for programs count only with an object that only a person has: a password, a PIN, a code that was sent, a card.
Nothing in a pattern is unbounded but the end of a word, so the time is linear in the text's length.

What neither frames nor lists have is weighed (`demand_score.py`): a sentence that names a secret, or such a one and its
neighbour, is a demand if its words and signs together weigh enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby, pairwise
from typing import Final

from language.attacks.demand_score import ANSWER, DRAFT, QUESTION, SHORT, pieces_of, sum_weights
from language.clean import holds_any, skeleton
from language.memo import remember, remember_items
from language.patterns import read_wording
from language.privacy.spans import readings
from language.readings import readings as without_disguise

_WORDING: Final = read_wording(__name__)

_DENIED: Final = _WORDING.pattern("denied")
_DENIED_AT_FIRST: Final = _WORDING.pattern("denied_at_first")
_ELSEWHERE: Final = _WORDING.pattern("elsewhere")
_ONLY_IF: Final = _WORDING.pattern("only_if")
_OF_ITS_STATE: Final = _WORDING.pattern("of_its_state")
_OF_ITS_KIND: Final = _WORDING.pattern("of_its_kind")
_KIND_OF: Final = _WORDING.pattern("kind_of")
_NOT_HANDING: Final = _WORDING.pattern("not_handing")
_MAY_BE_WANTED: Final = _WORDING.pattern("may_be_wanted")
_DENIES_OR_ASKS: Final = _WORDING.pattern("denies_or_asks")
_GIVEN: Final = _WORDING.pattern("given")
_ASKED_BACK: Final = _WORDING.pattern("asked_back")
_OF_THE_READER: Final = _WORDING.pattern("of_the_reader")
_NAMES_A_SECRET: Final = _WORDING.pattern("names_a_secret")
_WANTED_WORDS: Final = _WORDING.words("wanted_words")
_AROUND: Final = 400
"""Characters to both sides of such a word that any request with it reaches."""


_END: Final = re.compile(r"(?<=[.!?]) ")
_CLAUSE_END: Final = re.compile(r"(?<=[.!?;]) ")
_REFERS: Final = re.compile(r"\b(?:it|them)\b|(?<!\w)(?:его|их|ее)(?!\w)")
_LONGEST_CLAUSE: Final = 260
"""Characters. What is longer is a table or a listing."""
_NAMES_MORE: Final = re.compile(r"[,:;]|\band\b|(?<!\w)и(?!\w)")
"""What is named beside a kind, a place or a state is wanted itself: "the type of the PIN, and the PIN"."""
_LETTER_EN: Final = re.compile("[a-z]")
_LETTER_RU: Final = re.compile("[а-я]")
"""Without one, no pattern of the language finds anything: each has its words."""


@remember
def asks_for_secrets(text: str) -> str:
    """Return the credentials, codes or money that a text requests from its reader; empty if it requests nothing.

    A warning ("never send your password") is not a request. A text is judged as written and as Markdown shows it.
    """
    return next((found for said in as_read(text) if (found := _listed(said))), "") or _find_by_weight(text, ANSWER)


@remember
def draft_asks_for_secrets(text: str) -> str:
    """Return the same for a text that a model wrote, for which less counts as a request than for a document."""
    return asks_for_secrets(text) or _find_by_weight(text, DRAFT)


def _find_by_weight(text: str, threshold: float) -> str:
    """Return what weighs more than a threshold in a text as a whole, or in an item or cell of it."""
    read = (*as_read(text), *_items(text))
    return next((found for said in read if (found := _weighs_more(said, threshold))), "")


def _items(text: str) -> Iterator[str]:
    """Yield the items and cells of a text as they read: beside many others, the words of one weigh too little."""
    items = _ITEM.split(text)
    for item in items if len(items) > 1 else ():
        bare = item.strip(" \t\n|")
        quoted = bare[:1] in '"«“' and bare[-1:] in '"»”'  # an example in a table of such
        if not quoted and may_demand(item.casefold().replace("ё", "е")):
            yield from as_read(item)


_ITEM: Final = re.compile(r"(?:^|\n)[ \t>]*(?:[-*+•–—]|\d{1,3}[.)])[ \t]|[ \t]\|[ \t\n]|\n\|")


@remember
def name_asks_for_secrets(name: str) -> str:
    """Return the same for the words of a file's name: too few to be weighed, and often a question without its mark."""
    read = (said.strip() for said in as_read(name))
    return next((found for said in read if not _ASKS.match(said) and (found := _listed(said))), "")


def _listed(said: str) -> str:
    """Return what the lists find."""
    for part in _around_the_wanted(said):
        if found := (_LETTER_EN.search(part) and _first("requests_en", part)) or (
            _LETTER_RU.search(part) and _first("requests_ru", part)
        ):
            return found
    return _handed_over(said)


_ASKS: Final = re.compile(
    r"(?:\w{1,40} ){0,4}?(?:how|what|which|where|who|when|why|как|что|где|куда|кто|когда|почему)(?!\w)"
)


def question_asks_for_secrets(question: str) -> str:
    """Return the same for the assistant's own question, for which much weaker wording counts as a request."""
    return _wanted_by_a_question(question) or next(
        (found for said in _read_question(question) if (found := _weighs_more(said, QUESTION))), ""
    )


def _wanted_by_a_question(question: str) -> str:
    """Return what the patterns find; a gap is too short to be weighed."""
    if wanted := asks_for_secrets(question):
        return wanted
    sentences = (said for text in _read_question(question) for said in _END.split(text))
    return next((found for said in sentences if (found := _first_of_a_question(said))), "")


def _read_question(question: str) -> dict[str, None]:
    return dict.fromkeys((*as_read(question), *map(_plain_text, without_disguise(question))))


def _first_of_a_question(said: str) -> str:
    if found := _first("of_a_letter", said):
        return found
    return "" if _OF_ITS_STATE.search(said) else _first("of_a_question", said)


def gap_asks_for_secrets(gap: str) -> str:
    """Return the same for what a plan says is missing: asked for by its name, a secret's name alone is a request.

    Its type, its place or its state may be asked: "which kind of token", "where the password is stored".
    """
    read = _read_question(gap)
    if not any(_KIND_OF.match(said) for said in read) and (wanted := _wanted_by_a_question(gap)):
        return wanted
    parts = (part.strip() for said in read for part in _NAMES_MORE.split(said))
    return next((found for part in parts if (found := _named_by_a_gap(part))), "")


def _named_by_a_gap(part: str) -> str:
    if _KIND_OF.match(part):
        return ""
    if wanted := _wanted_by_a_question(part):
        return wanted
    if _OF_ITS_STATE.search(part) or _OF_ITS_KIND.search(part):
        return ""
    named = (pattern.search(part) for pattern in _WORDING.patterns("of_a_gap"))
    return next((match["what"].strip() for match in named if match), "")


def _first(name: str, said: str) -> str:
    """Return what the first pattern of an entry finds that finds a request."""
    for pattern in _WORDING.patterns(name):
        place = 0
        # Behind the first word of what is no request one may begin: "let us know when you can send us your password".
        while match := pattern.search(said, place):
            if not _is_harmless(match, said):
                return (match["what"] or match.group()).strip()
            place = match.start() + 1
    return ""


def _is_harmless(match: re.Match[str], said: str) -> bool:
    verbs = [match.start(), *([match.start("verb")] if "verb" in match.re.groupindex else [])]
    wanted = match.start("what")
    return bool(
        any(_is_denied(said, verb) for verb in verbs)
        or _ELSEWHERE.match(said, match.end("what"))
        or ((found := _ONLY_IF.search(said, match.start(), wanted + 40)) and found.start() < wanted)
    )


def _handed_over(said: str) -> str:
    """Return what a clause has its reader hand to a person, in whatever order its words stand."""
    if not may_demand(said):
        return ""
    clauses = _CLAUSE_END.split(said)
    for clause, following in zip(clauses, (*clauses[1:], ""), strict=True):
        wanted = next((found for pattern in _WORDING.patterns("object") if (found := pattern.search(clause))), None)
        if wanted is None or len(clause) > _LONGEST_CLAUSE or _NOT_HANDING.search(clause):
            continue
        if _ELSEWHERE.match(clause, wanted.end()):
            continue
        if _is_handing(clause) or (_REFERS.search(following) and _is_handing(following)):
            return wanted["what"].strip()
    return ""


def list_windows(plain: str) -> list[str]:
    """Return what is weighed of a plain text, as far as it names a secret.

    Each sentence; it with each neighbour that names none; parts of a long one, in which a demand weighs too little; and
    each run of short ones, into which a demand may be cut.
    """
    if not may_demand(plain):
        return []
    sentences = pieces_of(plain)
    pieces = [(piece, _names_a_secret(piece)) for piece in sentences]
    alone = [piece for piece, named in pieces if named]
    beside = [f"{one} {two}" for (one, first), (two, second) in pairwise(pieces) if first is not second]
    return [*alone, *beside, *filter(_names_a_secret, (*_parts_of_long(alone), *_runs_of_short(sentences)))]


def _names_a_secret(piece: str) -> bool:
    return _NAMES_A_SECRET.search(piece) is not None


def _parts_of_long(pieces: list[str]) -> Iterator[str]:
    for words in (piece.split() for piece in pieces):
        starts = range(0, len(words) - _PART // 2, _PART // 2) if len(words) > _LONG else ()
        yield from (" ".join(words[start : start + _PART]) for start in starts)


def _runs_of_short(pieces: list[str]) -> Iterator[str]:
    for short, run in groupby(pieces, key=lambda piece: piece.count(" ") < _FEWEST_WORDS - 1):
        if short and len(joined := list(run)) > 1:
            yield from pieces_of(" ".join(piece.rstrip(".!?") for piece in joined))


def _weighs_more(plain: str, threshold: float) -> str:
    """Return the first window of a text whose words and signs together weigh more than a threshold.

    A few words must weigh more: most of them name a thing.
    """
    for window in list_windows(plain):
        bare = _not_denied(window)
        limit = threshold if bare.count(" ") >= _FEWEST_WORDS - 1 else max(threshold, SHORT)
        if bare and sum_weights(bare, signs_of(bare)) > limit:
            return bare
    return ""


def _not_denied(window: str) -> str:
    """Return a window without clauses that deny or ask and name no secret; empty if one that names a secret does.

    Questions that the reader asks, such as a heading "What is my PIN?", are left out, too.
    """
    asked = _OF_THE_READER.sub(" ", window)
    if asked != window:
        window = " ".join(asked.split())
    clauses = _CLAUSES.split(window)
    left = [one for one in clauses if not _DENIES_OR_ASKS.search(one)]
    joined = ", ".join(left) if len(left) < len(clauses) else window
    if _GIVEN.search(joined) and not _ASKED_BACK.search(joined):
        return ""
    return "" if _DENIES_OR_ASKS.search(joined) or not _NAMES_A_SECRET.search(joined) else joined


_CLAUSES: Final = re.compile(r"[,;:] | [—–-] ")
_FEWEST_WORDS: Final = 5
"""Fewer are a few words."""
_LONG: Final = 30
_PART: Final = 20
"""Words of a sentence that is weighed in parts, too, and of such a part."""


def signs_of(window: str) -> list[str]:
    """Return the names of the signs of a demand, and of its absence, that a plain text has."""
    return [name for name, patterns in _signs() if any(pattern.search(window) for pattern in patterns)]


@cache
def _signs() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    listed = {name: _WORDING.patterns(name) for name in ("object", "person", "handing", "we", "you", "urges", "coded")}
    alone = {"not_handing": _NOT_HANDING, "denied": _DENIED, "denied_at_first": _DENIED_AT_FIRST, "only_if": _ONLY_IF}
    return (*listed.items(), *((name, (pattern,)) for name, pattern in alone.items()))


def _is_handing(clause: str) -> bool:
    return (
        len(clause) <= _LONGEST_CLAUSE
        and any(pattern.search(clause) for pattern in _WORDING.patterns("person"))
        and any(pattern.search(clause) for pattern in _WORDING.patterns("handing"))
        and not _NOT_HANDING.search(clause)
    )


def _is_denied(said: str, verb: int) -> bool:
    """Whether a warning stands in front of a verb. What another clause denies is another thing."""
    before = max(0, verb - 80)
    if _DENIED_AT_FIRST.search(said, before, verb):
        return True
    return said[verb] not in ",;:(" and _DENIED.search(said, before, verb) is not None


@remember_items
def as_read(text: str) -> list[str]:
    """Return a text as it reads: folded, in one line, without the marks of emphasis, code, links and citations in it."""
    return list(dict.fromkeys(map(_plain_text, dict.fromkeys(read.plain for read in readings(text)))))


def _plain_text(text: str) -> str:
    plain = skeleton(_CITATION.sub(" ", text)).replace("ё", "е").replace("\u2019", "'").replace("\u02bc", "'")
    plain = _BREAK.sub(_joint, f"\n{plain}")
    return " ".join(_MARKS.sub("", plain).split())


_CITATION: Final = re.compile(r"\[\d{1,3}\]")
_MARKS: Final = re.compile(r"[*`~\[\]]|(?<!\w)_{1,3}|_{1,3}(?!\w)|==")
_BREAK: Final = re.compile(r"\n[\s>]*+((?:[-*+•–—]|\d{1,3}[.)]|#{1,6})\s)?")


def _joint(line_break: re.Match[str]) -> str:
    """Return what a line break says: an item of a list goes on, a paragraph ends a sentence where no colon leads on."""
    if line_break[1]:
        return ", " if line_break.start() else ""
    before = line_break.string[max(0, line_break.start() - 5) : line_break.start()].rstrip()
    ends = line_break.group().count("\n") > 1 and before and before[-1] not in ":,;—–"
    return " . " if ends else " "


def may_demand(plain: str) -> bool:
    """Whether a lowercase text, spelt as usual, may request anything: most texts have none of these words."""
    return holds_any(plain, _WANTED_WORDS)


def _around_the_wanted(said: str) -> Iterator[str]:
    if not may_demand(said):
        return
    begin = end = 0
    for match in _MAY_BE_WANTED.finditer(said):
        if end and match.start() - _AROUND > end:
            yield said[begin:end]
            begin = match.start() - _AROUND
        elif not end:
            begin = max(0, match.start() - _AROUND)
        end = match.end() + _AROUND
    if end:
        yield said[begin:end]
