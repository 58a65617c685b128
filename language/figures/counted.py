"""A number with its noun: "1 document", "5 документов"."""

from __future__ import annotations

from contracts.enums import Language


def count_noun(number: int, forms: str, language: Language = Language.EN) -> str:
    """Return a count with the form of the noun that goes with it.

    Args:
        number: From 0 up.
        forms: The noun's forms, with `|` between them: for 1 and for others in English ("file|files"); for 1, for 2
            to 4 and for 5 and more in Russian ("файл|файла|файлов"; CLDR's one, few and many).
        language: Whose forms they are.
    """
    names = forms.split("|")
    return f"{number} {names[_russian(number) if language is Language.RU else number != 1]}"


def _russian(number: int) -> int:
    if number % 10 == 1 and number % 100 != 11:
        return 0
    return 1 if number % 10 in (2, 3, 4) and number % 100 not in (12, 13, 14) else 2
