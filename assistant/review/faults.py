"""Errors of the review, in the language of whoever reads them."""

from __future__ import annotations

from contracts.enums import Language
from contracts.errors import InputError


class ReviewFault(InputError):
    """The error for what cannot be done with turns.

    As an exception it is in English, as all errors of commands are; a page tells it in the reader's language.

    Args:
        name: Which texts say it: `review_fault_<name>`, and `review_fault_<name>_way_out`.
        values: What stands in them.
    """

    def __init__(self, name: str, /, **values: object) -> None:
        self.name = name
        self.values = values
        super().__init__(*self._texts(Language.EN))

    def text_in(self, language: Language) -> str:
        """Return what is wrong and the way out, in a language."""
        return " ".join(self._texts(language))

    def _texts(self, language: Language) -> tuple[str, str]:
        from assistant.turns.progress import phrases

        say = phrases(language)
        key = f"review_fault_{self.name}"
        return say[key].format(**self.values), say[f"{key}_way_out"].format(**self.values)
