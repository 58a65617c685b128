"""Reasons of indexing on the Russian page Documents."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.web.page.reasons import reason_in
from contracts.enums import Language

_SAYING = ("Unfit", "_refuse", "SkippedFile")
"""What is called with a reason, the last of its arguments."""


def reasons(root: Path) -> Iterator[str]:
    """Yield every reason that the code of indexing gives a file, with a 7 in the place of each value."""
    for path in (
        *(root / "adapters" / "reading").glob("*.py"),
        root / "adapters" / "index" / "embedded" / "ingestion.py",
    ):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            texts: list[ast.expr] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SAYING and node.args:
                texts = [node.args[-1]]
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("reason", "_LOCKED"):
                texts = [node.value]
            elif isinstance(node, ast.Dict):
                texts = [
                    value
                    for key, value in zip(node.keys, node.values, strict=True)
                    if key and "unfit" in ast.unparse(key)
                ]
            elif (
                isinstance(node, ast.Return)
                and isinstance(node.value, ast.JoinedStr)
                and "why(" not in ast.unparse(node)
            ):
                texts = [node.value]
            for text in texts:
                said = fill_in(text)
                if ": " in said and " " in said.split(": ")[0]:
                    yield said


def fill_in(text: ast.expr) -> str:
    if isinstance(text, ast.JoinedStr):
        return "".join(fill_in(part) for part in text.values)
    if isinstance(text, ast.FormattedValue):
        return "line 7 " if ast.unparse(text.value) == "where" else "7"
    return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else "7"


def test_every_reason_that_a_file_can_have_is_there_in_russian(root: Path) -> None:
    """Whoever writes a new reason writes it for readers of Russian, too."""
    found = set(reasons(root))
    assert len(found) > 25
    assert [one for one in sorted(found) if not re.search("[а-я]{3}", reason_in(one, Language.RU))] == []


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("is larger than 10 MB: split it", "больше 10 МБ: разделите его"),
        (
            (
                "its front matter has a `url` that is neither an http address nor a path and mapping values are not allowed "
                "here, line 3: indexed without; correct it and index again; line 3, 7 gives orders to whoever reads it, and "
                "is not quoted: take it out, or put it in quotation marks"
            ),
            (
                "его заголовок содержит `url`, который не адрес http и не путь и mapping values are not allowed here, line 3: "
                "проиндексирован без него; исправьте и проиндексируйте заново; строка 3, 7 отдаёт распоряжения тому, кто её "
                "читает, и не цитируется: уберите её или возьмите в кавычки"
            ),
        ),
        (
            "Indexing broke off; the server's log says why. The old index serves on.",
            "Индексация прервалась; причина — в журнале сервера. Ответы идут по прежнему индексу.",
        ),
        ("There is no folder /a {b} c. Name a folder that holds documents.", "Папки /a {b} c нет. Укажите"),
        ("is of a kind that nobody knows; yet", "is of a kind that nobody knows; yet"),
        ("", ""),
    ],
)
def test_reasons_are_told_one_by_one_with_their_values(reason: str, said: str) -> None:
    """What is not known stays as it is; English stays English."""
    assert reason_in(reason, Language.RU).startswith(said)
    assert reason_in(reason, Language.EN) == reason


def test_a_reason_of_any_length_is_told_in_a_moment() -> None:
    """Parts of it are a file's own words."""
    started = time.monotonic()
    for part in ("; ", " and ", "a; ", "its front matter ", "line 3 gives orders; "):
        reason_in(part * 20_000, Language.RU)
        reason_in((part * 5000)[:5000], Language.RU)
    assert time.monotonic() - started < 2
