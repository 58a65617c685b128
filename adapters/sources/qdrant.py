"""Qdrant as the index, over its HTTP API.

httpx is all it takes: Qdrant's own client is 6 MB with half a second of import, and brings gRPC and numpy along, for
eight requests of plain JSON. The sparse index of Qdrant is exact: what it returns is the best there is.

One collection holds the passages and, as points without a vector, the notes; such points answer no query.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, urlsplit
from uuid import UUID

from adapters.sources.markdown.index import version_term
from adapters.sources.markdown.store import Passage
from adapters.sources.remote import EngineFault, Found, Limits, Row
from adapters.sources.sparse import Vector
from contracts.errors import IndexBusy

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

FILL_S: Final = 120.0
"""For one request of a fill."""
MOST_BYTES: Final = 64_000_000
"""Of a reply."""

_VECTOR: Final = "words"
_LIMITED: Final = ("source", "scope", "language", "key")
"""What searches are limited by, versions as in the index (`scope`); Qdrant filters quickly by fields with an index of their own."""
_PAGE: Final = 5000
_SHOWN: Final = Passage._fields[1:]
"""A passage's number in the record means nothing elsewhere."""
_WAY_OUT: Final = "See that the server runs and its address and key are right."


class QdrantEngine:
    """An index in a Qdrant server.

    Args:
        url: `http://host:port` or `https://host:port`, without a key.
        collection: Its name there.
        api_key: Where the server wants one.
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

            local = urlsplit(self._url).hostname in _HERE
            self._opened = httpx.Client(base_url=self._url, headers=self._headers, trust_env=not local)
        return self._opened

    # --------------------------------------------------------------------------------------------------- searching

    def note(self, key: str, seconds: float) -> str | None:
        body = {"ids": [_note_id(key)], "with_payload": ["value"]}
        found = self._asked("POST", "/points", body, seconds, missing=[])
        with _readable():
            return str(found[0]["payload"]["value"]) if found else None

    def search(self, query: Vector, limits: Limits, count: int, *, whole: bool, seconds: float) -> list[Found]:
        body = {
            "query": {"nearest": _sparse(query)},
            "using": _VECTOR,
            "filter": _filter(limits),
            "limit": count,
            "with_payload": [*_SHOWN, "body"] if whole else list(_SHOWN),
            "with_vector": whole,
        }
        result = self._asked("POST", "/points/query", body, seconds)
        with _readable():
            return [_found(point) for point in result["points"]]

    # ----------------------------------------------------------------------------------------------------- filling

    def prepare(self) -> None:
        with _readable():
            exists = self._asked("GET", "/exists", None, FILL_S)["exists"]
        if not exists:
            made: dict[str, Any] = {"vectors": {}, "sparse_vectors": {_VECTOR: {}}, "on_disk_payload": True}
            self._asked("PUT", "", made, FILL_S)
        for field in _LIMITED:
            self._asked("PUT", "/index?wait=true", {"field_name": field, "field_schema": "keyword"}, FILL_S)

    @contextmanager
    def alone(self) -> Generator[None]:
        if self._lock is None:
            yield
            return
        from filelock import FileLock, Timeout

        lock = FileLock(self._lock, timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            raise IndexBusy(
                f"Another process is filling {self._name}.", "Wait until it has finished; searching works meanwhile."
            ) from error
        try:
            yield
        finally:
            lock.release()

    def held(self) -> Iterator[tuple[str, str]]:
        with _readable():
            for point in self._scrolled("fingerprint"):
                yield str(point["id"]), point["payload"]["fingerprint"]

    def put(self, rows: Sequence[tuple[Row, Vector]]) -> None:
        self._asked("PUT", "/points?wait=true", {"points": [_point(row, vector) for row, vector in rows]}, FILL_S)

    def drop(self, ids: Sequence[str]) -> None:
        self._asked("POST", "/points/delete?wait=true", {"points": list(ids)}, FILL_S)

    def keep_note(self, key: str, value: str) -> None:
        point = {"id": _note_id(key), "vector": {}, "payload": {"note": key, "value": value}}
        self._asked("PUT", "/points?wait=true", {"points": [point]}, FILL_S)

    def notes(self) -> list[str]:
        with _readable():
            return [point["payload"]["note"] for point in self._scrolled("note")]

    def drop_notes(self, keys: Sequence[str]) -> None:
        if keys:
            self.drop([_note_id(key) for key in keys])

    def settle(self) -> None:
        """Nothing: Qdrant tidies up by itself."""

    def _scrolled(self, field: str) -> Iterator[dict[str, Any]]:
        """Yield the points that have a field, with it."""
        offset: object = None
        while True:
            only = {"must_not": [{"is_empty": {"key": field}}]}
            body = {"limit": _PAGE, "with_payload": [field], "with_vector": False, "filter": only, "offset": offset}
            page = self._asked("POST", "/points/scroll", body, FILL_S)
            yield from page["points"]
            offset = page.get("next_page_offset")
            if offset is None:
                return

    # ---------------------------------------------------------------------------------------------------- requests

    def _asked(self, method: str, path: str, body: object, seconds: float, *, missing: Any = None) -> Any:
        """Return the result of a request; `missing`, if given, where there is no such collection yet."""
        import httpx

        end = time.monotonic() + seconds
        try:
            request = self._client.build_request(method, self._path + path, json=body, timeout=seconds)
            response = self._client.send(request, stream=True)
            try:
                content = _read(response, end)
            finally:
                response.close()
        except httpx.HTTPError as error:
            why = "it took too long" if isinstance(error, httpx.TimeoutException) else str(error)
            raise EngineFault(why.rstrip(".") or type(error).__name__, _WAY_OUT) from error
        if response.status_code == 404 and missing is not None:
            return missing
        return _result(response.status_code, content)


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


def _result(status: int, content: bytes) -> Any:
    import json

    try:
        reply: Any = json.loads(content)
        if status == 200:
            return reply["result"]
        why = str(cast("dict[str, Any]", reply)["status"]["error"])
    except (ValueError, LookupError, TypeError) as error:
        if status == 200:
            raise EngineFault("its reply is not Qdrant's", _WAY_OUT) from error
        why = content[:100].decode("utf-8", "replace")
    raise EngineFault(f"status {status}: {' '.join(why.split())[:300].rstrip('.')}", _WAY_OUT)


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


def _point(row: Row, vector: Vector) -> dict[str, Any]:
    payload = {name: getattr(row.passage, name) for name in _SHOWN}
    payload |= {"scope": version_term(row.passage.version), "body": row.body, "fingerprint": row.fingerprint}
    # A passage of stop words alone has an empty vector; Qdrant takes none with no numbers.
    return {"id": row.id, "vector": {_VECTOR: _sparse(vector)} if vector else {}, "payload": payload}


def _filter(limits: Limits) -> dict[str, Any]:
    wanted = {
        "source": [limits.source] if limits.source else None,
        "scope": list(limits.versions) if limits.versions is not None else None,
        "language": [limits.language] if limits.language else None,
    }
    must = [{"key": name, "match": {"any": values}} for name, values in wanted.items() if values is not None]
    excluded = [{"key": "key", "match": {"any": sorted(limits.excluded)}}] if limits.excluded else []
    return {"must": must, "must_not": excluded}


_EMPTY: Final = _sparse({})


def _found(point: dict[str, Any]) -> Found:
    payload = point["payload"]
    passage = Passage(0, *(payload[name] for name in _SHOWN))
    sparse: Any = point["vector"][_VECTOR] if point.get("vector") else _EMPTY
    vector: Vector = dict(zip(sparse["indices"], sparse["values"], strict=True))
    return Found(passage, float(point["score"]), vector, payload.get("body", ""))
