"""Passages with secrets and personal data in them."""

from __future__ import annotations

from tests.support.turn import passage

KEY = "sk-" + "live-abcdefghijklmnopqrstuvwx"


PHONE = "+7 916 123-45-67"


PLANTED = [
    passage(
        1,
        snippet=f"The kettle boils at 100 degrees. Its service key is {KEY}, and the fitter is at {PHONE}.",
        title="Boiling, fitter@firma.ru",
    ),
    passage(2, snippet="The kettle boils at 100 degrees, says the manual, when the lid is closed."),
]
