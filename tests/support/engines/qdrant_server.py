"""Qdrant's HTTP API, as far as the adapter uses it, over Qdrant's own engine in this process.

What is asked is checked by the models of Qdrant's official client, which know no field that the API does not have.
They take a second to import: this is imported where a server starts, not where each worker collects all tests.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import qdrant_edge as edge
from qdrant_client.http import models


class Qdrant:
    """A server on loopback.

    Attributes:
        url: Where it is.
        api_key: What it wants to be told; empty: anybody may ask.
        before: Called before each request with method and path; may take its time, or raise.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: dict[str, edge.EdgeShard] = {}
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()
        self.api_key = ""
        self.before: Callable[[str, str], object] = lambda *_: None
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # A reply in several packets would wait for the client's word on the first.
            disable_nagle_algorithm = True
            wbufsize = -1

            def do(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                server.before(self.command, self.path)
                status, reply = server.answer(self.command, self.path, body, self.headers.get("api-key", ""))
                content = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # named by the base class
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that was killed is no news."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"qdrant://127.0.0.1:{self.port}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        for shard in self._shards.values():
            _close(shard)

    def forget(self, name: str) -> None:
        """Drop a collection, if there is one."""
        with self._lock:
            if shard := self._shards.pop(name, None):
                shard.close()
                shutil.rmtree(self._folder / name)

    def optimize(self) -> None:
        """Tidy up, as a server does by itself in a quiet minute."""
        with self._lock:
            for shard in self._shards.values():
                shard.optimize()

    # ----------------------------------------------------------------------------------------------------- requests

    def answer(self, method: str, target: str, body: bytes, key: str) -> tuple[int, dict[str, Any]]:
        """Return status and reply of one request."""
        if key != self.api_key:
            return 401, {"status": {"error": "Must provide an API key or an Authorization bearer token"}}
        _, _, name, *rest = urlsplit(target).path.split("/")
        asked = (method, "/".join(rest))
        value = json.loads(body) if body else None
        with self._lock:
            name = unquote(name)
            if asked == ("GET", "exists"):
                return 200, _well({"exists": name in self._shards})
            if asked == ("PUT", ""):
                made = models.CreateCollection.model_validate(value)
                (self._folder / name).mkdir()
                params = {vector: edge.EdgeSparseVectorParams() for vector in made.sparse_vectors or {}}
                dense = {vector: _dense(one) for vector, one in (made.vectors or {}).items()}  # type: ignore[union-attr]
                config = edge.EdgeConfig(vectors=dense, sparse_vectors=params)
                self._made[name] = json.loads(body)
                self._shards[name] = edge.EdgeShard.create(str(self._folder / name), config)
                return 200, _well(True)
            if name not in self._shards:
                return 404, {"status": {"error": f"Not found: Collection `{name}` doesn't exist!"}}
            if asked == ("GET", ""):
                return 200, _well({"status": "green", "config": {"params": self._made[name]}})
            return 200, _well(_ACTIONS[asked](self._shards[name], value))


def _well(result: object) -> dict[str, Any]:
    return {"result": result, "status": "ok", "time": 0.0}


def _dense(params: Any) -> edge.EdgeVectorParams:
    assert params.distance == models.Distance.DOT
    return edge.EdgeVectorParams(params.size, edge.Distance.Dot)


def _index(shard: edge.EdgeShard, value: Any) -> object:
    made = models.CreateFieldIndex.model_validate(value)
    assert made.field_schema == models.PayloadSchemaType.KEYWORD
    shard.update(edge.UpdateOperation.create_field_index(made.field_name, edge.PayloadSchemaType.Keyword))
    return {"status": "completed"}


def _put(shard: edge.EdgeShard, value: Any) -> object:
    points = models.PointsList.model_validate(value).points
    made = [edge.Point(point.id, _vectors(point.vector), point.payload) for point in points]
    shard.update(edge.UpdateOperation.upsert_points(made))
    return {"status": "completed"}


def _vectors(vectors: Any) -> dict[str, Any]:
    return {name: _vector(vector) for name, vector in vectors.items()}


def _vector(vector: Any) -> Any:
    return edge.SparseVector(vector.indices, vector.values) if isinstance(vector, models.SparseVector) else vector


def _delete(shard: edge.EdgeShard, value: Any) -> object:
    shard.update(edge.UpdateOperation.delete_points(models.PointIdsList.model_validate(value).points))
    return {"status": "completed"}


def _retrieve(shard: edge.EdgeShard, value: Any) -> object:
    asked = models.PointRequest.model_validate(value)
    return [_record(point) for point in shard.retrieve(list(asked.ids), _wanted(asked.with_payload), False)]


def _scroll(shard: edge.EdgeShard, value: Any) -> object:
    asked = models.ScrollRequest.model_validate(value)
    points, after = shard.scroll(
        edge.ScrollRequest(
            offset=asked.offset,
            limit=asked.limit,
            filter=_filter(asked.filter),
            with_payload=_wanted(asked.with_payload),
        )
    )
    return {"points": [_record(point) for point in points], "next_page_offset": str(after) if after else None}


def _query(shard: edge.EdgeShard, value: Any) -> object:
    asked = models.QueryRequest.model_validate(value)
    assert isinstance(asked.query, models.NearestQuery)
    vector = _vector(asked.query.nearest)
    found = shard.query(
        edge.QueryRequest(
            limit=asked.limit or 10,
            query=edge.Query.Nearest(vector, asked.using),
            filter=_filter(asked.filter),
            with_payload=_wanted(asked.with_payload),
            with_vector=_wanted(asked.with_vector),
        )
    )
    return {"points": [{**_record(point), "version": point.version, "score": point.score} for point in found]}


def _wanted(parts: Any) -> bool | list[str]:
    assert isinstance(parts, bool | list)
    return parts


def _record(point: Any) -> dict[str, Any]:
    vectors = {name: {"indices": v.indices, "values": v.values} for name, v in (point.vector or {}).items()}
    return {"id": str(point.id), "payload": point.payload, "vector": vectors or None}


def _filter(asked: models.Filter | None) -> edge.Filter | None:
    if asked is None:
        return None
    sides = (asked.must, asked.must_not, asked.should)
    must, must_not, should = ([_condition(one) for one in side or []] for side in sides)
    return edge.Filter(must=must, must_not=must_not, should=should or None)


def _condition(asked: Any) -> Any:
    if isinstance(asked, models.IsEmptyCondition):
        return edge.IsEmptyCondition(asked.is_empty.key)
    if isinstance(asked, models.HasIdCondition):
        return edge.HasIdCondition(set(asked.has_id))
    assert isinstance(asked.match, models.MatchAny)
    return edge.FieldCondition(asked.key, match=edge.MatchAny(asked.match.any))


_ACTIONS: dict[tuple[str, str], Callable[[edge.EdgeShard, Any], object]] = {
    ("PUT", "index"): _index,
    ("PUT", "points"): _put,
    ("POST", "points"): _retrieve,
    ("POST", "points/delete"): _delete,
    ("POST", "points/scroll"): _scroll,
    ("POST", "points/query"): _query,
}


def _close(shard: Any) -> None:
    """Close a shard; a request that hangs on purpose may still be in it."""
    for _ in range(200):
        try:
            shard.close()
        except RuntimeError:
            time.sleep(0.05)
        else:
            return
    shard.close()


@contextmanager
def serve_qdrant(folder: Path) -> Generator[Qdrant]:
    """Run a server with collections in a folder."""
    server = Qdrant(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
