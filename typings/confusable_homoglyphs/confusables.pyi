from collections.abc import Sequence
from typing import Literal, TypedDict

class Homoglyph(TypedDict):
    c: str
    n: str

class Confusable(TypedDict):
    character: str
    alias: str
    homoglyphs: list[Homoglyph]

def is_confusable(
    string: str, greedy: bool = False, preferred_aliases: Sequence[str] = ()
) -> list[Confusable] | Literal[False]: ...
def is_dangerous(string: str, preferred_aliases: Sequence[str] = ()) -> bool: ...
def is_mixed_script(string: str, allowed_aliases: Sequence[str] = ("COMMON",)) -> bool: ...
