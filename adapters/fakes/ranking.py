"""The scripted server as an embedding model and as a reranker: it uses stems and pieces of words, not meaning.

It imports only the standard library, so that the server starts at once.
"""

from __future__ import annotations

import math
import re
import zlib
from typing import Any, Final

from adapters.fakes.model import ModelRequest, list_of, object_of, tokens

LENGTH: Final = 256
"""How many numbers a vector has."""

_WORD = re.compile(r"[^\W_]{4,}")
"""Shorter words carry no subject, mostly."""
_STEM: Final = 6
_PIECE_WEIGHT: Final = 0.4


def stems_of(text: str) -> list[str]:
    """Return the first letters of each longer word, in order, with repeats."""
    return [word[:_STEM] for word in _WORD.findall(text.lower().replace("ё", "е"))]


def vector_of(text: str) -> list[float]:
    """Return a deterministic vector of length 1 that is near the vectors of texts with similar words.

    Each word counts by its stem and by its pieces of three letters, so that "filesystem" is near "file system".
    """
    vector = [0.0] * LENGTH
    for word in _WORD.findall(text.lower().replace("ё", "е")):
        _add(vector, word[:_STEM], 1.0)
        for start in range(len(word) - 2):
            _add(vector, f"*{word[start : start + 3]}", _PIECE_WEIGHT)
    length = math.hypot(*vector)
    return [number / length for number in vector] if length else [1.0, *vector[1:]]


def _add(vector: list[float], feature: str, weight: float) -> None:
    number = zlib.crc32(feature.encode("utf-8", "replace"))
    vector[number % LENGTH] += weight if number & 0x10000 else -weight


def score_of(query: str, text: str) -> float:
    """Return which share of the query's stems a text has, 0 to 1."""
    wanted = set(stems_of(query))
    return len(wanted & set(stems_of(text))) / len(wanted) if wanted else 0.0


def embeddings(asked: ModelRequest) -> dict[str, Any]:
    """Return the reply to a request for vectors."""
    given = asked.fields.get("input")
    texts = [given] if isinstance(given, str) else [str(text) for text in list_of(given)]
    data = [{"object": "embedding", "index": place, "embedding": vector_of(text)} for place, text in enumerate(texts)]
    used = sum(map(tokens, texts))
    usage = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "data": data, "model": asked.fields.get("model"), "usage": usage}


def rank(asked: ModelRequest) -> Any:
    """Return the reply to a rerank request, best first, in the wire format of the request.

    A TEI request is recognised by its field `texts`; its reply is a bare list.
    """
    query = str(asked.fields.get("query", ""))
    in_tei = "texts" in asked.fields
    texts = [_text_of(text) for text in list_of(asked.fields.get("texts" if in_tei else "documents"))]
    scored = sorted(enumerate(score_of(query, text) for text in texts), key=lambda pair: -pair[1])
    if in_tei:
        return [{"index": place, "score": score} for place, score in scored]
    top = asked.fields.get("top_n")
    first = scored[:top] if isinstance(top, int) else scored
    results = [{"index": place, "relevance_score": score} for place, score in first]
    return {"model": asked.fields.get("model"), "results": results}


def _text_of(document: object) -> str:
    """Return a document's text; Jina's clients send objects."""
    return document if isinstance(document, str) else str(object_of(document).get("text", ""))
