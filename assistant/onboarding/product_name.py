"""The product's likely name, as its documents say it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from language.clean import fold
from language.patterns import read_wording
from language.words import all_stems, stems, stop_words

_WORDING: Final = read_wording(__name__)

_LONGEST: Final = 80
_OFTEN: Final = 0.4
"""The share of the pages from which on a name is the product's."""
_OFTEN_SHAPED: Final = 0.2
"""The same for a name that looks like one: LibreOffice, GIMP."""
_OFTEN_DEFINED: Final = 0.1
"""The same for a name of which a page says what it is."""
_OFTEN_TITLED: Final = 0.05
"""The same for a name in the title of the front page."""
_IN_TITLES: Final = 0.4
"""The share of all titles from which on a name in them is the product's: "Installing Acme", "Configuring Acme"."""
_A_WORD: Final = 0.5
"""The share of a name's pages that have it in lower case, too, from which on it is a word of the language."""
_LONGEST_ABBREVIATION: Final = 4

_NAME: Final = re.compile(r"[A-ZА-ЯЁ][\w.+-]*(?: [A-ZА-ЯЁ0-9][\w.+-]*){0,2}")
_SHAPED: Final = re.compile(r"[A-ZА-ЯЁ][a-zа-яё]+[A-ZА-ЯЁ]\w*|[A-ZА-ЯЁ]{2,}\d*")
_LOWER: Final = re.compile(r"(?<![\w.-])[a-zа-яё][\w-]+")
_CODE: Final = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1|`[^`\n]{1,300}`", re.DOTALL | re.MULTILINE)
_NUMBERED: Final = re.compile(r"\s+\d")
_ENDS: Final = re.compile(r"[.!?:;\n|]+")
_LEADS_ON: Final = re.compile(r"[\s»\"*]{0,3}(?:[>→›/]|[-–—] [A-ZА-ЯЁ])")
_COMES_FROM: Final = re.compile(r"(?:[>→›/][\s«\"*]{0,3}|[A-Za-zА-яЁё] [-–—] )$")
"""Ways through menus: "Settings > Company", "Insert - Chart"."""
_DEFINED: Final = re.compile(
    r"(?P<quoted>[«\"“])?(?P<name>[A-ZА-ЯЁ][\w+-]*(?: [A-ZА-ЯЁ0-9][\w+-]*){0,2})[»\"”]?(?: is (?:an?|the|your)\b|\s(?:—|–|-|это)\s(?![A-ZА-ЯЁ]))"
)
"""A sentence that says what it is about: "Acme is a printer", «Полка» — приложение."""
_PART_OF_THE_SCREEN: Final = _WORDING.pattern("part_of_the_screen")
_ABBREVIATIONS: Final = frozenset(_WORDING.entries["abbreviations"]["words"])


def find_product_name(pages: Sequence[str], fronts: Iterable[str] = (), titles: Sequence[str] = ()) -> str:
    """Return the name that most pages have inside a sentence; empty if none is frequent enough.

    What is as often written in lower case, or has a number behind it ("Figure 16"), is a word of the language. A name in the
    title of the front page needs the fewest pages. A name of which a page says what it is ("Acme is a printer") comes
    before others, unless one is three times as frequent.

    Args:
        pages: The prose of each page that is read.
        fronts: Titles of the documents' front pages.
        titles: Titles of all these pages.
    """
    names = _FoundNames()
    for page in pages:
        names.read(page)
    times = names.proper()
    if not times:
        return ""
    # The first word of a title has a capital anyway.
    in_titles = Counter(key for title in titles for key in names.keys_in([title.partition(" ")[2]]))
    titled = {key: times[key] for key in names.keys_in(fronts) if times[key] >= max(2, _OFTEN_TITLED * len(pages))}
    titled |= {key: times[key] for key, count in in_titles.items() if count >= max(2, _IN_TITLES * len(titles))}
    if any(titled.values()):
        return names.spelling(max(titled, key=lambda key: (titled[key], len(key))))
    best = max(times, key=lambda key: (times[key], names.shaped(key), len(key)))
    shaped = max(filter(names.shaped, times), key=lambda key: times[key], default="")
    often = times[best] >= max(2, _OFTEN * len(pages))
    if shaped and times[shaped] >= max(2, _OFTEN_SHAPED * len(pages)) and 2 * times[shaped] >= times[best]:
        best, often = shaped, True
    least = max(1, _OFTEN_DEFINED * len(pages))
    told = max(((times[key], key) for key in names.defined if times[key] >= least), default=(0, ""))
    if told[0] and (not often or 3 * told[0] >= times[best]):
        best = told[1]
    elif not often:
        return ""
    # "Acme" stands wherever "Acme Printer" stands: the longer one is the name if it is nearly as frequent.
    count = times[best]
    for key, number in times.items():
        if best in key and key != best and number >= 0.5 * count and len(key) > len(best):
            best = key
    return names.spelling(best)


class _FoundNames:
    """The names in pages, by their stems: «Полки» is «Полка».

    Attributes:
        defined: Names of which a page says what they are.
    """

    def __init__(self) -> None:
        self._times = Counter[str]()
        self._lower = Counter[str]()
        self._uses = Counter[str]()
        self._numbered = Counter[str]()
        self._written: dict[str, Counter[str]] = {}
        self.defined: set[str] = set()

    def read(self, prose: str) -> None:
        """Read one page."""
        found = set[str]()
        for sentence in map(str.strip, _ENDS.split(prose)):
            for name, numbered in _names_inside(sentence):
                key = self._write(name)
                found.add(key)
                self._uses[key] += 1
                self._numbered[key] += numbered
            if (match := _DEFINED.match(sentence)) and _may_name(match["name"]):
                self.defined.add(" ".join(all_stems(match["name"])))
                # "Stocktaking is a ..." explains a word; what is quoted or has several capitals is a name anywhere.
                if match["quoted"] or " " in match["name"]:
                    found.add(self._write(match["name"]))
        self._times.update(found)
        # A command is often named after its product: what is code is no word of the language.
        said = set(_LOWER.findall(_CODE.sub(" ", prose)))
        self._lower.update({key for word in said for key in all_stems(word)})

    def proper(self) -> Counter[str]:
        """Return how many pages have each name, without words of the language and captions."""
        return Counter(
            {
                key: count
                for key, count in self._times.items()
                # Of several words, the first tells: "With Acme" is no name.
                if self._lower[key.partition(" ")[0]] < _A_WORD * count
                # "Use Acme" is no name where "Acme" stands elsewhere, too.
                and not (" " in key and self._uses[key.partition(" ")[2]] > self._uses[key])
                and 2 * self._numbered[key] <= max(1, self._uses[key])
            }
        )

    def keys_in(self, titles: Iterable[str]) -> set[str]:
        """Return the keys of names in titles, those at the beginning, too."""
        return {
            " ".join(all_stems(name))
            for title in titles
            for match in _NAME.finditer(title)
            for words in [match.group().split()]
            for start in range(len(words))
            for name in _beginnings(" ".join(words[start:]))
            if _may_name(name)
        }

    def shaped(self, key: str) -> bool:
        """Whether a name looks like one however often it stands: a capital inside, or nothing but capitals."""
        return any(map(_SHAPED.fullmatch, self.spelling(key).split()))

    def spelling(self, key: str) -> str:
        """Return a name as most pages write it."""
        return max(self._written[key].items(), key=lambda entry: entry[1])[0][:_LONGEST]

    def _write(self, name: str) -> str:
        key = " ".join(all_stems(name))
        self._written.setdefault(key, Counter())[name] += 1
        return key


def _names_inside(sentence: str) -> Iterable[tuple[str, bool]]:
    """Yield the names of a sentence, each with whether a number follows; a single first word has a capital anyway."""
    for match in _NAME.finditer(sentence):
        first = not sentence[: match.start()].strip('«"“ ')
        if _LEADS_ON.match(sentence, match.end()) or _leads_to_a_part_of_the_screen(sentence[: match.start()]):
            continue
        words = match.group().split()
        if first and _leads_to_a_part_of_the_screen(f"{words[0]} "):
            continue
        for start in range(2 if first else 1):
            said = " ".join(words[start:])
            behind = sentence[match.end() - len(said) : match.end() + _NEAR]
            for name in _beginnings(said):
                if _may_name(name) and not (first and start == 0 and " " not in name):
                    yield name, bool(_NUMBERED.match(behind[len(name) :]))


def _leads_to_a_part_of_the_screen(before: str) -> bool:
    near = before[-_LONGEST_LEAD:]
    return bool(_COMES_FROM.search(near) or _PART_OF_THE_SCREEN.search(near))


_LONGEST_LEAD: Final = 40
"""Characters before a name that are looked at."""
_NEAR: Final = 4
"""Characters behind a name in which its number stands."""


def _beginnings(name: str) -> list[str]:
    words = name.split()
    return [" ".join(words[:number]) for number in range(1, len(words) + 1)]


def _may_name(name: str) -> bool:
    """Whether a capitalised word may be a product's name: no abbreviation of the field, and no word of every text."""
    if name.isupper() and len(name) <= _LONGEST_ABBREVIATION and (len(name) < 3 or name in _ABBREVIATIONS):
        return False
    return (
        bool(stems(name))
        and not name.rpartition(" ")[2].isdigit()
        and fold(name.split(maxsplit=1)[0]) not in stop_words()
    )
