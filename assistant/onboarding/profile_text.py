"""The first profile of a deployment, as a file for people to read and change."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assistant.onboarding.survey import FolderSurvey
from assistant.turns.progress import phrases
from contracts.enums import Dialect, Language
from language.words import all_stems

_TOPICS: Final = 4
_TOPIC_WORDS: Final = range(2, 9)
_LONGEST_TOPIC: Final = 60
_QUOTES: Final = {Language.EN: "“{}”", Language.RU: "«{}»"}
_QUOTE_MARKS: Final = re.compile(r"[\"«»“”„‹›`]")
_LONGEST_NAME: Final = 40
# As Russian names are written in addresses (GOST 7.79-2000, system B, without its marks).
_LATIN: Final = dict(
    zip(
        "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
        [
            "a",
            "b",
            "v",
            "g",
            "d",
            "e",
            "yo",
            "zh",
            "z",
            "i",
            "j",
            "k",
            "l",
            "m",
            "n",
            "o",
            "p",
            "r",
            "s",
            "t",
            "u",
            "f",
            "h",
            "c",
            "ch",
            "sh",
            "shh",
            "",
            "y",
            "",
            "e",
            "yu",
            "ya",
        ],
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class ProfileDraft:
    """What a person is asked about a new profile, with what the documents suggest.

    Attributes:
        product: The product's name in answers.
        about: For each language, what the assistant helps with.
        contact: Whom users turn to; empty for "the support team".
        languages: The languages of the answers, the main one first.
    """

    product: str
    about: Mapping[Language, str]
    contact: str
    languages: tuple[Language, ...]

    @property
    def name(self) -> str:
        """The profile's name, which is also the name of its data folder."""
        return profile_name(self.product)


def profile_name(product: str) -> str:
    """Return a name for the profile of a product: small Latin letters, digits and dashes; `support` if none remain.

    The names of the bundled profiles are theirs.
    """
    from assistant.config.profiles import profile_names

    latin = "".join(_LATIN.get(char, char) for char in product.casefold())
    plain = unicodedata.normalize("NFKD", latin).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-").lstrip("0123456789-")[:_LONGEST_NAME].strip("-")
    return f"{name}-docs" if name in profile_names() else name or "support"


def describe_scope(product: str, survey: FolderSurvey, language: Language) -> str:
    """Return what the assistant helps with: quoted titles of its documents, or all of them if no title says it.

    It stands behind "You can ask about" and "I answer questions about Acme:", where a title without quotation marks reads
    as a broken sentence. Titles with the product's name come last, and no two begin with the same word unless all do.
    """
    topics = [title for title in survey.titles.get(language, ()) if _may_be_topic(title)]
    step = max(1, len(topics) // _TOPICS)
    spread = [*topics[::step], *(title for number, title in enumerate(topics) if number % step)]
    spread.sort(key=lambda title: product in title)
    distinct = dict[str, str]()
    for title in spread:
        distinct.setdefault(_take_first_stem(title.removeprefix(product)), title)
    chosen = list(distinct.values()) if len(distinct) > 1 else spread
    return ", ".join(map(_QUOTES[language].format, chosen[:_TOPICS])) or phrases(language)["init_about_all"]


def _may_be_topic(title: str) -> bool:
    """Whether a title says a topic in a few words, begins like a title, and can be put between quotation marks."""
    fits = len(title) <= _LONGEST_TOPIC and len(title.split()) in _TOPIC_WORDS
    return fits and title[0] == title[0].upper() and not _QUOTE_MARKS.search(title)


def _take_first_stem(title: str) -> str:
    return next(iter(all_stems(title)), "")


def write_profile(draft: ProfileDraft, survey: FolderSurvey, folder: str, language: Language) -> str:
    """Return the text of a profile.

    Args:
        draft: What it says.
        survey: The folder of documents.
        folder: The folder's path, relative to the profile's file, or absolute.
        language: The language of the comments.
    """
    say = phrases(language)
    spoken = draft.languages
    lines = [
        f"# {say['init_profile_head'].format(product=_one_line(draft.product))}",
        f"name = {_quoted(draft.name)}",
        f"product = {_quoted(draft.product)}",
        f"languages = {json.dumps([str(one) for one in spoken])}  # {say['init_profile_languages']}",
    ]
    if survey.synonyms:
        rows = [f"  [{', '.join(map(_quoted, group))}]," for group in survey.synonyms]
        lines += [f"synonyms = [  # {say['init_profile_synonyms']}", *rows, "]"]
    lines.append("")
    if draft.contact:
        lines += [
            f"[contact]  # {say['init_profile_contact']}",
            *_by_language(dict.fromkeys(spoken, draft.contact)),
            "",
        ]
    lines += [
        "[scope]",
        f"words = [{_quoted(draft.product)}]  # {say['init_profile_words']}",
        "",
        f"[scope.description]  # {say['init_profile_about']}",
        *_by_language({one: draft.about[one] for one in spoken}),
    ]
    for path, version in _folders(survey, folder):
        lines += ["", "[[knowledge]]", f"path = {_quoted(path)}"]
        lines += [f"version = {_quoted(version)}"] if version else []
        lines += [f'dialect = "{survey.dialect}"'] if survey.dialect is not Dialect.PLAIN else []
    return "\n".join(lines) + "\n"


def _folders(survey: FolderSurvey, folder: str) -> Sequence[tuple[str, str]]:
    """Return the folders to name, with their versions; the outer one leaves the others' documents to them."""
    return [(folder, ""), *((f"{folder}/{name}", version) for name, version in survey.versions.items())]


def _by_language(texts: Mapping[Language, str]) -> list[str]:
    return [f"{language} = {_quoted(text)}" for language, text in texts.items()]


def _quoted(text: str) -> str:
    # A string of JSON without escaped letters is a basic string of TOML.
    return json.dumps(_one_line(text), ensure_ascii=False)


def _one_line(text: str) -> str:
    return "".join(char for char in " ".join(text.split()) if char.isprintable())
