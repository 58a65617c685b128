from __future__ import annotations

import asyncio

import httpx
import numpy as np

from tests.support.shelves import embedder
from tests.support.wire.server_process import FakeServer


def test_texts_with_like_words_are_nearer_than_others(server: FakeServer) -> None:
    """The scripted embedding model says the same of the same text, and puts forms and compounds of a word together."""
    texts = ["the file system", "the file system", "filesystems", "watering roses"]
    first, again, near, far = asyncio.run(embedder(server.url).embed(texts))
    assert (first == again).all()
    assert np.dot(first, near) > 2 * abs(np.dot(first, far))


def test_what_is_no_object_is_refused(server: FakeServer) -> None:
    """A body that is no JSON object is answered with 400, by both rankers."""
    for path in ("/v1/embeddings", "/v1/rerank", "/rerank"):
        assert httpx.post(f"{server.root}{path}", content=b"[1]").status_code == 400
