"""Texts of any length by their shapes: what is repeated in them, mixed, or never the same twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from language.privacy.personal_data import luhn

SHORT, LONG = 5_000, 20_000


GROWTH: Final = (LONG / SHORT) ** 1.3


LEAST: Final = 0.005
"""Seconds of what is judged: of less, the noise of a busy machine is a large part."""


# What is repeated, by what it looks like; a tuple is what stands before, what is repeated, and what stands behind.
PIECES: Final[dict[str, list[str | tuple[str, str, str]]]] = {
    "marks": list("!\"#$%&'()*+,-"),
    "more marks": list("./:;<=>?@[\\]^_`{|}~"),
    "blanks": [" ", "\n", "\t", "\u00a0", "\u200b", "\r\n", "\u3000", " \n", "\n\t\n", ("a", " ", "b")],
    "letters": ["a", "1", "٣", "²", "а", "漢", "ع", "😀", "ё", "İ", "ﬁ", "Ａ"],
    "accents": ["a\u0301", "\u0301", "о\u0301", "е\u0308", ("е", "\u0308", ""), ("е\u0323", "\u0308", ""), ("a", "о\u0301", "")],
    "marks of two classes": [("a", "\u0301\u0323", ""), ("е", "\u0308\u3099", ""), ("е", "\u0308\u0323\u05b0", ""), ("か", "\uff9e\u0301", "")],
    "signs": ["—", "«", "»", "„", "“", "…", "•", "½", "\u00ad", "\u202e", "👨‍👩‍👧"],
    "brackets": ["[(", "](", "![", "[a", "[a](", "[a](b)", "(a", "{%", "[1]", "[1", "]:", "[a]: "],
    "tags": ["<!", "<!--", "<a ", "</", "<a href=", "<a href=x>", "<div>\n", "&a;", "&#1;", ("<!--", "a", "")],
    "emphasis": ["**a", "*a", "_a", "__a", "a_", "~~a", "`a", "` ", "```\n", "\\`", "\\a"],
    "blocks": ["\n#", "# ", "\n- ", "- ", "\n> ", "> ", "\n|", "|a", "|-", "\n    ", "1. ", "\n1. ", "---\n", "a\n---\n", "a\n\n", ("# ", "! ", ""), ("# ", ". ", ""), ("# ", "—No. a", "")],
    "numbers": ["1 ", "1.", "1,", "-1", "1/2 ", "111 ", "1.2.", "1:1 ", "10% ", "$1", "5 km ", "1–2 ", "2024-01-01 ", "A-1 "],
    "words": ["a ", "a b", "а ", "a-", "a.", "a/", "a, ", ", ", "аa", "А1", "not ", "не ", "and how ", "how do I ", "сто ", "? "],
    "addresses": ["a@", "a@b.c ", "://", "http://", "http://a ", "www.a.", "аwww.a.", "/../", "C:\\a\\", "+7 ", (" /", "a", ">")],
    "secrets": ["sk-", "sk-aB3", "eyJ.", "-----BEGIN PRIVATE KEY-----\n", "password: ", "token: a1 ", "Bearer ", ("sk-", "aB3dE5fG", "")],
    "requests": ["send us ", "that code ", "we need: ", "never send us your password ", "пришлите ", "нам нужен ваш ", "код из ", "500 рублей "],
    "structure": ['{"a":', "[1,", '"\\', '{"a": 1}', "{#a", ("# {#", "a", ""), "8<--", "!!! a\n", ":::", "a: b\n", "[^1]", "A > B > "],
    "generators": ["{a(", "{a(b)}", "{{a}}", "{%a%}", ":a:", "|===\n|a\n", "|a\n", "**a:**\n    1. b\n", "1. a\n   **b:**\n", "[a](b) [1] ", "a  b", "a [1]. "],
    "tables": [("| password |\n| --- |\n| ", "1", " |"), ("| a |\n|---|\n", "| 1 |\n", ""), "| a | b |\n", ("|", "-", "a")],
}  # fmt: skip


MIXED: Final = {
    "ascii": [chr(code) for code in range(32, 127)],
    "marks": list("[](){}<>*_`|#-.,:;!?\"'\\/ \n"),
    "digits": list("0123456789.,:-/ "),
    "base64": list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
    "scripts": list("aбв漢字عربαβ "),
    "look-alikes": list("aаeеoо "),
    "markdown": ["[", "](", "`", "```\n", "\n", "\n# ", "\n- ", "\n> ", "|", "**", "a ", "<a>", "[1]"],
    "prose": ["the ", "profile ", "to ", "delete ", "5 ", "minutes ", "not ", "how ", "1.2 ", ". ", ".\n"],
    "проза": ["как ", "не ", "профиль ", "удалить ", "5 ", "минут ", "и ", ". ", ".\n"],
}


# What is never the same twice: each is a value that is looked for in all that the turn says and writes.
VALUES: Final[list[Callable[[int], str]]] = [
    lambda number: f"card {_card(number)} ",
    lambda number: f"password: Pa{number * 7919 % 1_000_003}xQ{number}\n",
    lambda number: f"sk-aB{number * 104_729 % 10_000_019:08}cD{number:06}eF ",
    lambda number: f"option{number} is {number}. ",
]


RUNS: Final = count()


def _card(number: int) -> str:
    """Return the card number with a right check digit that has this number in it."""
    digits = f"4{number * 1_299_709 % 10**14:014}"
    return next(f"{digits}{last}" for last in "0123456789" if luhn(digits + last))


def list_shapes(group: str) -> Iterator[Callable[[int], str]]:
    """Yield the shapes of a group, each a text of so many characters; no two texts are the same to a cache."""
    if group == "values":
        for made in VALUES:
            least = len(made(1))
            listed = "".join(map(made, range(LONG // least + 1)))
            yield lambda size, text=listed: _ended(text, size)
        return
    if group == "mixed":
        for pieces in MIXED.values():
            mixed = "".join(random.Random(7).choices(pieces, k=LONG))  # noqa: S311  # the same in each run
            yield lambda size, text=mixed: _ended(text, size)
        return
    for piece in PIECES[group]:
        before, repeated, behind = piece if isinstance(piece, tuple) else ("", piece, "")
        yield lambda size, b=before, r=repeated, e=behind: _ended(b + r * (size // len(r) + 1), size, e)


def _ended(text: str, size: int, behind: str = "") -> str:
    end = f"{behind} w{next(RUNS)}"
    return text[: size - len(end)] + end


GROUPS: Final = [*PIECES, "mixed", "values"]
