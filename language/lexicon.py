"""The lexicon: classifies a message by its words, without a model. The words are in `language/lexicon.toml`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import Any, Final

from contracts.enums import Language, RequestType
from language.clean import fold, skeleton
from language.memo import remember
from language.patterns import read_toml
from language.words import Phrases, all_stems, stem, stems, stop_words, tokens

_VOWEL = re.compile("[aeiouyаеиоуыэюя]")
STATUS: Final = (RequestType.STATUS_METRIC, RequestType.STATUS_LIST, RequestType.STATUS_SUMMARY)
_LONGEST_COURTESY: Final = 160
"""Characters; a longer sentence says more than that it is polite."""
_ALONE: Final = 2
"""Words of a message that is a name and no question: "the settings"."""
_BARE_SIGN: Final = re.compile(r"\d{1,6}|[^\W\d_]")
"""A short number, or one letter."""
_FEW: Final = 6
"""The most words of a message that only fills its place."""
_LONG_RUN = re.compile(r"(.)\1{5,}")


@cache
def lexicon() -> dict[str, Any]:
    """Return the lexicon as in the file."""
    return read_toml("language", "lexicon.toml")


def request_type(text: str) -> RequestType:
    """Return the request type of the first rule that fits the text; else KNOWLEDGE_QA."""
    stemmed = all_stems(text)
    for kind, groups, unless in _type_rules():
        if all(group.find_in(stemmed) for group in groups) and not unless.find_in(stemmed):
            return kind
    return RequestType.KNOWLEDGE_QA


def asks_how_it_is_done(text: str) -> bool:
    """Whether a text asks why, how or whether something can be done, or what it is: never for a status."""
    return bool(_status_words()["unless"].find(text))


def asks_of_now(text: str) -> bool:
    """Whether a text asks for a figure, or is about the current or the last state."""
    words = _status_words()
    return any(words[name].find(text) for name in ("figure", "figure of now", "list of now"))


def figure_or_list(texts: Iterable[str]) -> RequestType:
    """Return STATUS_LIST if more of the texts ask for a list than for a figure, else STATUS_METRIC."""
    every, words = list(texts), _status_words()
    figures, lists = (sum(bool(words[name].find(text)) for text in every) for name in ("figure", "list"))
    return RequestType.STATUS_LIST if lists > figures else RequestType.STATUS_METRIC


def is_courtesy(text: str) -> bool:
    """Whether a sentence is only a polite opening or ending of an answer: "I hope this helps."

    It must consist only of courtesies: a polite word next to a statement is not enough.
    """
    said = " ".join(tokens(text))
    return 0 < len(said) <= _LONGEST_COURTESY and bool(_courtesies().fullmatch(said))


@cache
def _courtesies() -> re.Pattern[str]:
    courtesy = lexicon()["courtesy"]
    bags = {f"{{{name}}}": f"(?:{'|'.join(words)})" for name, words in courtesy["words"].items()}
    patterns = [*courtesy["en"], *courtesy["ru"]]
    for name, words in bags.items():
        patterns = [pattern.replace(name, words) for pattern in patterns]
    one = f"(?:{'|'.join(patterns)})"
    return re.compile(f"{one}(?: (?:(?:and|but|so|и|а|но) )?{one}){{0,3}}")


def points_ahead(text: str) -> bool:
    """Whether a sentence points to what follows: "the following steps", "как показано ниже"."""
    return not _lead_in("pointers").isdisjoint(tokens(text))


def is_lead_in(text: str) -> bool:
    """Whether a sentence only introduces what follows: "Here is what the documentation says:"."""
    if not _DENIES.isdisjoint(tokens(text)):
        return False  # "These keys do not exist:" states something
    return _lead_in("stems").issuperset(word for word in stems(text) if not word.isdigit())


_DENIES: Final = frozenset(("no", "not", "never", "none", "cannot", "nor", "не", "нет", "ни", "никогда", "нельзя"))


@cache
def _lead_in(name: str) -> frozenset[str]:
    words = lexicon()["lead_in"]
    if name == "pointers":
        return frozenset(words["pointers"])
    return frozenset(stems(" ".join((*words["pointers"], *words["words"]))))


@remember
def casual_kind(text: str) -> str | None:
    """Return greetings, thanks, farewells or small_talk if a message is nothing else; `None` otherwise."""
    stemmed = all_stems(text)
    hits = {kind: phrases.find_in(stemmed) for kind, phrases in _casual().items()}
    found = [kind for kind, phrases in hits.items() if phrases and kind != "fillers"]
    if not found or ("?" in text and "small_talk" not in found):
        return None
    rest = Counter(stemmed)
    for phrase in (phrase for phrases in hits.values() for phrase in phrases):
        for part in all_stems(phrase):
            if rest[part]:
                rest[part] -= 1
    stop = _stop_stems()
    if any(count and word not in stop for word, count in rest.items()):
        return None
    # Thanks are worth more than the greeting around them.
    return next(kind for kind in ("thanks", "small_talk", "farewells", "greetings") if kind in found)


@cache
def _stop_stems() -> frozenset[str]:
    return frozenset(stem(word) for word in stop_words())


def is_casual(text: str) -> bool:
    """Whether a message is a greeting, thanks, a farewell or small talk, and nothing else."""
    return casual_kind(text) is not None


def wants_person(text: str) -> bool:
    """Whether a message asks for a person to take over."""
    return bool(_phrases("person").find(text))


def is_advertising(text: str) -> bool:
    """Whether a message is an advertisement: it has two phrases of the list, or one and a link."""
    hits = _phrases("advertising").find(skeleton(text))
    return len(set(hits)) >= 2 or bool(hits and re.search(r"https?://|www\.|t\.me/", text))


def is_gibberish(text: str) -> bool:
    """Whether most of a message's words cannot be real: no vowel in five letters, or a letter six times in a row."""
    words = [word for word in tokens(text) if word.isalpha() and len(word) >= 5]
    if not words:
        return bool(_LONG_RUN.search(text)) or not any(c.isalnum() for c in text)
    odd = [w for w in words if not _VOWEL.search(w) or _LONG_RUN.search(w) or _consonant_run(w) >= 6]
    return len(odd) * 2 > len(words)


def _consonant_run(word: str) -> int:
    return max(map(len, _VOWEL.split(word)), default=0)


def is_vague(text: str) -> bool:
    """Whether a message names no object: it has only symptoms, general verbs and stop words.

    A general word with nothing else is not an object: "settings". Neither is the whole product with a symptom:
    "problems with the program". A question for a figure or a list of a period has an object: "Which errors were there
    today?".
    """
    if says_nothing(text):
        return True
    said = set(stems(text))
    # "Settings" and "set" have one stem: what is listed as a noun is no verb.
    nouns = {stem(word) for word in tokens(text) if word in _bare_words()}
    named = said - vague_stems() - (_vague("light") - nouns)
    nothing = not named or (len(tokens(text)) <= _ALONE and named <= _vague("bare"))
    of_it_all = named <= _vague("whole") and not said.isdisjoint(vague_stems()) and not asks_how_it_is_done(text)
    return (nothing or of_it_all) and request_type(text) not in STATUS


def says_nothing(text: str) -> bool:
    """Whether a message has no content: "5", "n/a", "#REF!", "Test test", "Это просто проверка".

    Long numbers and words spelled letter by letter may have a meaning, for example one to be declined.
    """
    said = tokens(text)
    rest = [word for word in said if not _BARE_SIGN.fullmatch(word)]
    beside = _placeholders("beside")
    filled = all(word in beside or word in _placeholders("placeholder") for word in rest)
    return filled and len(said) <= _FEW and not beside.issuperset(said)


@cache
def _placeholders(kind: str) -> frozenset[str]:
    return frozenset(fold(word) for word in lexicon()["vague"][kind])


def is_foreign(text: str) -> bool:
    """Whether a message is about a subject of everyday life, which hardly any product documentation covers."""
    return bool(_foreign().find(text))


@cache
def vague_stems() -> frozenset[str]:
    """Return the stems of words that report a problem without naming it."""
    return _vague("words")


@cache
def light_stems() -> frozenset[str]:
    """Return the stems of general verbs, and of words that refer to an earlier message."""
    return _vague("light") - {stem(word) for word in _bare_words()}


@cache
def asking_stems() -> frozenset[str]:
    """Return the stems of question words and the like: a page that answers need not have them."""
    return _vague("asking")


@cache
def _vague(kind: str) -> frozenset[str]:
    return frozenset(stem(word) for word in lexicon()["vague"][kind])


@cache
def _bare_words() -> frozenset[str]:
    return frozenset(fold(word) for word in lexicon()["vague"]["bare"])


@cache
def _foreign() -> Phrases:
    return Phrases(lexicon()["foreign"]["words"])


def question_about(text: str, language: Language) -> tuple[str, str]:
    """Return the clarification question for a vague message, and the gap that it closes."""
    stemmed = all_stems(text)
    for symptom in lexicon()["symptom"]:
        if Phrases(symptom["phrases"]).find_in(stemmed):
            return symptom[language], symptom[f"gap_{language}"]
    unclear = lexicon()["unclear"]
    return unclear[language], unclear[f"gap_{language}"]


def split_joined(question: str) -> list[str]:
    """Split one sentence into its questions: "how do I A and how do I B"."""
    return [part.strip(" ,;") for part in _joiners().split(question) if part.strip(" ,;")]


def infer_category(text: str, language: Language) -> str:
    """Return the area with the most words in a text, named in the given language."""
    stemmed = all_stems(text)
    best, most = lexicon()["general_category"], 0
    for category, phrases in _categories():
        if (hits := len(phrases.find_in(stemmed))) > most:
            best, most = category, hits
    return best[language]


def infer_topic(text: str) -> str:
    """Return the subject of a text: at most six content words, in order."""
    stop = stop_words()
    words = (match.group() for match in re.finditer(r"(?<![\w./-])[_./-]*+[^\W_][\w./-]*", text))
    kept = islice((word for word in words if not all(part in stop for part in tokens(word))), 6)
    return " ".join(dict.fromkeys(kept))


@cache
def _type_rules() -> list[tuple[RequestType, list[Phrases], Phrases]]:
    return [
        (RequestType(rule["type"]), [Phrases(group) for group in rule["groups"]], Phrases(rule.get("unless", [])))
        for rule in lexicon()["request_type"]
    ]


@cache
def _status_words() -> dict[str, Phrases]:
    """Return the words that ask for a figure or a list, those that say of when, and those that ask for neither."""
    rules = {kind: (groups, unless) for kind, groups, unless in _type_rules() if kind in STATUS}
    figure, unless = rules[RequestType.STATUS_METRIC]
    listing, _ = rules[RequestType.STATUS_LIST]
    return {
        "figure": figure[0],
        "figure of now": figure[-1],
        "list": listing[0],
        "list of now": listing[-1],
        "unless": unless,
    }


@cache
def _casual() -> dict[str, Phrases]:
    return {kind: Phrases(words) for kind, words in lexicon()["casual"].items()}


@cache
def _phrases(section: str) -> Phrases:
    return Phrases(lexicon()[section]["phrases"])


@cache
def _categories() -> list[tuple[dict[str, str], Phrases]]:
    return [(category, Phrases(category["words"])) for category in lexicon()["category"]]


@cache
def _joiners() -> re.Pattern[str]:
    words = sorted((fold(w) for group in lexicon()["joiners"].values() for w in group), key=len, reverse=True)
    # The joining word itself goes, the question word behind it stays: "and how" leaves "how".
    heads = "|".join(rf"{re.escape(w.split(' ', 1)[0])}\s++(?={re.escape(w.split(' ', 1)[1])}\b)" for w in words)
    # A run of blanks is tried from its beginning alone.
    return re.compile(rf"(?:,\s*+|(?<!\s)\s++)(?:{heads})", re.IGNORECASE)
