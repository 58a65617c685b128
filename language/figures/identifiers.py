"""Names that are written as code: addresses, files, settings, errors, key combinations."""

from __future__ import annotations

import re
from typing import Final

from language.clean import fold

URL = re.compile(r"(?:https?|ftp|wss?)://[^\s<>()\[\]\"'`«»“”„…|]+", re.IGNORECASE)
_URL_END: Final = ".,;:!?*_~"
_FILE = (
    r"(?:py|toml|jsonl?|md|db|ya?ml|txt|ini|cfg|conf|exe|dll|xml|csv|sh|bat|ps1|jsx?|tsx?|html?|css|log|pdf|docx?|xlsx?|pptx?|zip|gz|"
    r"tar|jar|sql|lock|cs|java|go|rs|png|jpe?g|svg|env)"
)
IDENTIFIER = re.compile(
    r"(?<![\w/.@-])(?=[\w.+-])(?:--[a-z][\w-]+|[A-Za-z_]\w*_\w+|[A-ZА-ЯЁ]{2}[A-ZА-ЯЁ0-9]*(?:-\d+)+"
    rf"|(?:[\w.-]+/)+[\w-]+\.{_FILE}|[\w-]+(?:\.[\w-]+)*\.{_FILE}"
    r"|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+|(?:[a-z0-9-]+\.)+(?:com|org|net|ru|io|dev|local|internal)"
    r"|[a-z]+[A-Z]\w+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|[A-Z][a-z]+[A-Z]{2,}[a-z]*)(?!\w)"
    r"|(?=[~./])(?<![\w/.:<>)\]*%$€£₽°»”-])(?<![\w.][\"'])(?<![%$€£₽°\d][ \u00a0])(?:~|\.{1,2})?/(?:[\w.-]+/)*(?:[\w-]*\.)*[\d-]*+[^\W\d][\w-]*+/?(?![\w>-])|(?<!\w)[A-Za-z]:\\[\w\\.-]*\w"
)
CODE: Final = re.compile(
    r"(?<![\w@/.+-])(?:0x[0-9A-Fa-f]+|[A-Z]{1,10}[-‐‑]\d[0-9A-Za-z]{0,20}|(?![vVxхX]\.?\d+\b)[A-Za-z]{1,24}\d[0-9A-Za-z]{0,30}"
    r"|[А-ЯЁ]{1,5}[-‐‑]?\d[0-9A-ZА-ЯЁ]{0,20})(?![\w@]|[.,]\d)|(?<!\w)x(?:32|64|86)(?!\w)"
)
"""A name of letters and digits: an error, a key, a model, an algorithm. What begins with a digit is a number and its unit."""
_KEY = (
    r"(?:ctrl|control|alt|shift|cmd|command|win|windows|option|fn|meta|super|esc|escape|tab|enter|return|del|delete|ins|insert|home|end|"
    r"backspace|space|pgup|pgdn|pageup|pagedown|f\d{1,2}|[a-zа-яё0-9])"
)
KEYS: Final = re.compile(
    rf"(?<![\w+-])(?=\w)(?:ctrl|control|alt|shift|cmd|command|win|option|fn|meta|super)(?:[ \u00a0]?[+‐‑-][ \u00a0]?{_KEY}(?![\w])){{1,4}}",
    re.IGNORECASE,
)
KEYS_APART: Final = re.compile(
    rf"(?<![\w+-])(?:ctrl|control|alt|shift|cmd|command|win|option|fn|meta|super)(?:(?:[ \u00a0]?[+‐‑-][ \u00a0]?|[ \u00a0](?:and|и)[ \u00a0]|"
    rf"[ \u00a0]){_KEY}(?![\w])){{1,4}}",
    re.IGNORECASE,
)
_KEY_NAMES: Final = {"control": "ctrl", "command": "cmd", "escape": "esc", "delete": "del", "insert": "ins"}
ALIKE: Final = str.maketrans("авекмнорстухіё", "abekmhopctyxie")
"""Cyrillic letters for the Latin ones that look like them: a code is typed with either."""
PLACEHOLDER = re.compile(r"<[^<>\n]*>|\{\w*\}")
CODE_WORD = re.compile(r"(?<!\w)\d+(?:[.,]\d+)+(?!\w)|[^\s\"'`=,;:(){}\[\]<>|&$\\*«»“”„]+")


def keys_of(pressed: str) -> str:
    """Return a key combination as `ctrl+f5`."""
    keys = re.split(r"[ \u00a0]*[+‐‑-][ \u00a0]*|[ \u00a0]+(?:and|и)[ \u00a0]+|[ \u00a0]+", fold(pressed))
    return "+".join(_KEY_NAMES.get(key, key) for key in keys).translate(ALIKE)


def normalise_address(url: str) -> str:
    """Return an address in normal form: scheme and host folded, no slash or punctuation at its end."""
    url = url.rstrip(_URL_END)
    match = re.match(r"([a-z]+://[^/?#]*)(.*)", url, re.IGNORECASE | re.DOTALL)
    return (fold(match[1]) + match[2] if match else url).rstrip("/")


def flatten(text: str) -> str:
    return " ".join(re.sub(r"[*`«»“”„\"]", "", fold(text.replace("№", "# "))).split())
