"""Qdrant as the index, over its HTTP API.

This module needs only httpx, for eight requests of plain JSON. Qdrant's own client is 6 MB, needs half a second to
import, and depends on gRPC and numpy. The sparse index of Qdrant is exact: it returns the best passages.

One collection holds the passages and, as points without a vector, the notes; such points match no query. Vectors by an
embedding model are a second named vector of the same points, under the same filters. Their length can be set only when
a collection is made.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, urlsplit
from uuid import UUID

from adapters.data_folder import hold_lock
from adapters.index.queries import version_term
from adapters.index.records import StoredPassage
from adapters.index.remote.engine import ANOTHER_PLACE, EngineFault, EngineHit, PassageRow, SearchLimits
from adapters.index.remote.sparse import Vector
from contracts.errors import IndexBusy, KnowledgeError

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from adapters.index.ranking.embedder import Embedding

FILL_S: Final = 120.0
"""For one request of a fill."""
MOST_BYTES: Final = 64_000_000
"""Of a reply."""

CONNECT_S: Final = 5.0
"""For reaching the server."""

_WORDS: Final = "words"
_MEANING: Final = "meaning"
_DIGITS: Final = 8
"""After the point, of a number in a vector: more than float32 has."""
_LIMITED: Final = ("source", "scope", "language", "key")
"""What searches are limited by, versions as in the index (`scope`); Qdrant filters quickly by fields with an index of their own."""
_PAGE: Final = 5000
_SHOWN: Final = StoredPassage._fields[1:]
"""A passage's number in the record means nothing elsewhere."""
_WAY_OUT: Final = "See that the server runs and its address and key are right."


class QdrantEngine:
    """An index in a Qdrant server.

    Args:
        url: `http://host:port` or `https://host:port`, without a key.
        collection: Its name on the server.
        api_key: If the server needs one.
        lock: A file that keeps two processes of this machine from filling it at once; Qdrant has no lock.
    """

    def __init__(self, url: str, collection: str, *, api_key: str = "", lock: Path | None = None) -> None:
        self._url = url
        self._name = f"{url}/{collection}"
        self._path = f"/collections/{quote(collection, safe='')}"
        self._lock = lock
        self._headers = {"api-key": api_key} if api_key else {}
        self._opened: httpx.Client | None = None

    @property
    def name(self) -> str:
        return self._name

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _client(self) -> httpx.Client:
        if self._opened is None:
            import httpx

            at = urlsplit(self._url)
            # Where nobody speaks TLS, there is no reason to read who may sign for servers, which takes 15 ms.
            self._opened = httpx.Client(
                base_url=self._url,
                headers=self._headers,
                trust_env=at.hostname not in _HERE,
                verify=at.scheme == "https",
            )
        return self._opened

    # --------------------------------------------------------------------------------------------------- searching

    def note(self, key: str, seconds: float) -> str | None:
        body = {"ids": [_note_id(key)], "with_payload": ["value"]}
        found = self._ask("POST", "/points", body, seconds, missing=[])
        with _readable():
            return str(found[0]["payload"]["value"]) if found else None

    def search(
        self, query: Vector, limits: SearchLimits, count: int, *, whole: bool, seconds: float
    ) -> list[EngineHit]:
        return self._query(_WORDS, _sparse(query), limits, count, seconds, whole=whole)

    def nearest(self, meaning: Embedding, limits: SearchLimits, count: int, *, seconds: float) -> list[EngineHit]:
        return self._query(_MEANING, _numbers(meaning), limits, count, seconds, whole=True)

    def _query(
        self, vector: str, nearest: object, limits: SearchLimits, count: int, seconds: float, *, whole: bool
    ) -> list[EngineHit]:
        body = {
            "query": {"nearest": nearest},
            "using": vector,
            "filter": _filter(limits),
            "limit": count,
            "with_payload": [*_SHOWN, "body"] if whole else list(_SHOWN),
            "with_vector": [_WORDS] if whole else False,
        }
        result = self._ask("POST", "/points/query", body, seconds)
        with _readable():
            return [_read_point(point) for point in result["points"]]

    def articles(self, key: str, kb_id: int | None, *, seconds: float) -> list[StoredPassage]:
        wanted = {"key": key, **({} if kb_id is None else {"kb_id": kb_id})}
        either = [{"key": name, "match": {"any": [value]}} for name, value in wanted.items()]
        end = time.monotonic() + seconds
        with _readable():
            found = self._pages(list(_SHOWN), {"should": either}, end)
            return [_passage(point["payload"]) for point in found]

    # ----------------------------------------------------------------------------------------------------- filling

    def prepare(self, length: int) -> None:
        dense: dict[str, Any] = {_MEANING: {"size": length, "distance": "Dot"}} if length else {}
        with _readable():
            exists = self._ask("GET", "/exists", None, FILL_S)["exists"]
            if exists and length:
                made: dict[str, Any] = self._ask("GET", "", None, FILL_S)["config"]["params"].get("vectors") or {}
                if made.get(_MEANING, {}).get("size") != length:
                    raise EngineFault(
                        f"it was made without vectors of {length} numbers, and Qdrant adds none later",
                        f"{ANOTHER_PLACE.capitalize()}; or search there by words alone: GUARDIAN_EMBEDDER=off.",
                        passing=False,
                    )
        if not exists:
            params: dict[str, Any] = {"vectors": dense, "sparse_vectors": {_WORDS: {}}, "on_disk_payload": True}
            self._ask("PUT", "", params, FILL_S)
        for field in _LIMITED:
            self._ask("PUT", "/index?wait=true", {"field_name": field, "field_schema": "keyword"}, FILL_S)

    @contextmanager
    def alone(self) -> Generator[None]:
        if self._lock is None:
            yield
            return
        try:
            lock = hold_lock(self._lock, 0)
        except TimeoutError as error:
            raise IndexBusy(
                f"Another process is filling {self._name}.", "Wait until it has finished; searching works meanwhile."
            ) from error
        except OSError as error:
            raise KnowledgeError(
                f"The lock {self._lock} cannot be taken ({error.strerror}).",
                "Allow writing to the data folder, or choose another one, on a local disk.",
            ) from error
        try:
            yield
        finally:
            lock.release()

    def held(self) -> Iterator[tuple[str, str]]:
        with _readable():
            for point in self._scroll("fingerprint"):
                yield str(point["id"]), point["payload"]["fingerprint"]

    def put(self, rows: Sequence[tuple[PassageRow, Vector]]) -> None:
        self._ask("PUT", "/points?wait=true", {"points": [_point(row, vector) for row, vector in rows]}, FILL_S)

    def drop(self, ids: Sequence[str]) -> None:
        self._ask("POST", "/points/delete?wait=true", {"points": list(ids)}, FILL_S)

    def keep_note(self, key: str, value: str) -> None:
        point = {"id": _note_id(key), "vector": {}, "payload": {"note": key, "value": value}}
        self._ask("PUT", "/points?wait=true", {"points": [point]}, FILL_S)

    def notes(self) -> list[str]:
        with _readable():
            return [point["payload"]["note"] for point in self._scroll("note")]

    def drop_notes(self, keys: Sequence[str]) -> None:
        if keys:
            self.drop([_note_id(key) for key in keys])

    def settle(self) -> None:
        """Do nothing: Qdrant optimizes its storage without a request."""

    def _scroll(self, field: str) -> Iterator[dict[str, Any]]:
        """Yield the points that have a field, with it."""
        yield from self._pages([field], {"must_not": [{"is_empty": {"key": field}}]})

    def _pages(self, fields: list[str], only: dict[str, Any], end: float | None = None) -> Iterator[dict[str, Any]]:
        """Yield the points that a filter lets through, page by page; `end` is when all of it must be there."""
        offset: object = None
        while True:
            body = {"limit": _PAGE, "with_payload": fields, "with_vector": False, "filter": only, "offset": offset}
            seconds = FILL_S if end is None else max(0.1, end - time.monotonic())
            page = self._ask("POST", "/points/scroll", body, seconds)
            yield from page["points"]
            offset = page.get("next_page_offset")
            if offset is None:
                return

    # ---------------------------------------------------------------------------------------------------- requests

    def _ask(self, method: str, path: str, body: object, seconds: float, *, missing: Any = None) -> Any:
        """Return the result of a request; `missing`, if given, where there is no such collection yet."""
        import httpx

        end = time.monotonic() + seconds
        passing = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
        try:
            try:
                status, content = self._send(method, path, body, end)
            except passing:
                # A connection that was idle is ended by servers and by what stands before them. Any request may be
                # sent twice: what is written has ids.
                status, content = self._send(method, path, body, end)
        except httpx.HTTPError as error:
            raise EngineFault(self._describe(error), _WAY_OUT) from error
        if status == 404 and missing is not None:
            return missing
        return _result(status, content, self._headers.get("api-key", ""))

    def _send(self, method: str, path: str, body: object, end: float) -> tuple[int, bytes]:
        import httpx

        seconds = max(0.1, end - time.monotonic())
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_S))
        request = self._client.build_request(method, self._path + path, json=body, timeout=timeout)
        response = self._client.send(request, stream=True)
        try:
            return response.status_code, _read(response, end)
        finally:
            response.close()

    def _describe(self, error: httpx.HTTPError) -> str:
        import httpx

        if isinstance(error, httpx.ConnectTimeout):
            return "it cannot be reached"
        if isinstance(error, httpx.TimeoutException):
            return "it took too long"
        return _without(self._headers.get("api-key", ""), str(error).rstrip(".") or type(error).__name__)


_HERE: Final = ("localhost", "127.0.0.1", "::1")
"""No proxy stands between a machine and itself."""


def _read(response: httpx.Response, end: float) -> bytes:
    """Return a reply's body, unless it is endless, or drips."""
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if len(content) > MOST_BYTES:
            raise EngineFault("its reply is too long", _WAY_OUT)
        if time.monotonic() > end:
            raise EngineFault("it took too long", _WAY_OUT)
    return bytes(content)


def _without(key: str, text: str) -> str:
    return text.replace(key, "***") if key else text


def _result(status: int, content: bytes, key: str) -> Any:
    import json

    try:
        reply: Any = json.loads(content)
        if status == 200:
            return reply["result"]
        why = str(cast("dict[str, Any]", reply)["status"]["error"])
    except (ValueError, LookupError, TypeError) as error:
        if status == 200:
            raise EngineFault("its reply is not Qdrant's", _WAY_OUT) from error
        why = _without(key, content.decode("utf-8", "replace"))[:100]
    words = _without(key, " ".join(why.split()))[:300].rstrip(".")
    raise EngineFault(f"status {status}: {words}" if words else f"status {status}", _WAY_OUT)


@contextmanager
def _readable() -> Generator[None]:
    """Tell of a result that has another form than Qdrant gives it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise EngineFault("its reply cannot be read", _WAY_OUT) from error


def _note_id(key: str) -> str:
    return str(UUID(bytes=hashlib.blake2b(f"note\0{key}".encode(), digest_size=16).digest()))


def _sparse(vector: Vector) -> dict[str, list[Any]]:
    return {"indices": list(vector), "values": list(vector.values())}


def _numbers(vector: Embedding) -> list[float]:
    return [round(number, _DIGITS) for number in vector.tolist()]


def _point(row: PassageRow, vector: Vector) -> dict[str, Any]:
    payload = {name: getattr(row.passage, name) for name in _SHOWN}
    payload |= {"scope": version_term(row.passage.version), "body": row.body, "fingerprint": row.fingerprint}
    # A passage of stop words alone has an empty vector; Qdrant takes none with no numbers.
    vectors: dict[str, object] = {_WORDS: _sparse(vector)} if vector else {}
    if row.meaning is not None:
        vectors[_MEANING] = _numbers(row.meaning)
    return {"id": row.id, "vector": vectors, "payload": payload}


def _filter(limits: SearchLimits) -> dict[str, Any]:
    wanted = {
        "source": [limits.source] if limits.source else None,
        "scope": list(limits.versions) if limits.versions is not None else None,
        "language": list(limits.languages) if limits.languages is not None else None,
    }
    must: list[dict[str, Any]] = [
        {"key": name, "match": {"any": values}} for name, values in wanted.items() if values is not None
    ]
    if limits.ids is not None:
        must.append({"has_id": list(limits.ids)})
    excluded = [{"key": "key", "match": {"any": sorted(limits.excluded)}}] if limits.excluded else []
    return {"must": must, "must_not": excluded}


_EMPTY: Final = _sparse({})


def _passage(payload: dict[str, Any]) -> StoredPassage:
    return StoredPassage(0, *(payload[name] for name in _SHOWN))


def _read_point(point: dict[str, Any]) -> EngineHit:
    payload = point["payload"]
    vectors: dict[str, Any] = point.get("vector") or {}
    sparse = vectors.get(_WORDS, _EMPTY)
    vector: Vector = dict(zip(sparse["indices"], sparse["values"], strict=True))
    return EngineHit(_passage(payload), float(point["score"]), vector, payload.get("body", ""))
