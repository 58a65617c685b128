from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.fakes.hand_off import FakeSink
from contracts.enums import DeliveryStatus
from contracts.errors import HandOffFailed
from contracts.ports import HandOffSink
from contracts.report import Receipt, Ticket
from tests.support.hand_off.receiver import receiver
from tests.support.hand_off.sender import desk_at
from tests.support.ports.sink_conformance import SinkConformance
from tests.support.sockets import free_port


class TestFake(SinkConformance):
    @pytest.fixture(autouse=True)
    def _on(self) -> None:
        self.made = FakeSink()

    def sink(self) -> HandOffSink:
        return self.made

    def away(self) -> HandOffSink:
        return FakeSink(Receipt(delivery=DeliveryStatus.KEPT, why="It is away."))

    def broken(self) -> HandOffSink:
        return FakeSink(HandOffFailed("The disk is full."))

    def arrived(self) -> list[Ticket]:
        return self.made.tickets


def of_document(raw: bytes) -> Ticket:
    return Ticket.model_validate(
        {name: value for name, value in json.loads(raw).items() if name not in ("id", "kept_at")}
    )


class OnDisk(SinkConformance):
    """Desks with an outbox of their own."""

    @pytest.fixture(autouse=True)
    def _in(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def broken(self) -> HandOffSink:
        (self.folder / "file").touch()
        return desk_at(self.folder / "file", str(self.folder / "out"))


class TestFolder(OnDisk):
    def sink(self) -> HandOffSink:
        return desk_at(self.folder, str(self.folder / "out"))

    def away(self) -> HandOffSink:
        (self.folder / "in-the-way").touch()
        return desk_at(self.folder, str(self.folder / "in-the-way"))

    def arrived(self) -> list[Ticket]:
        return [of_document(path.read_bytes()) for path in sorted((self.folder / "out").glob("*.json"))]


class TestWebhook(OnDisk):
    @pytest.fixture(autouse=True)
    def _on(self) -> Iterator[None]:
        with receiver() as self.running:
            yield

    def sink(self) -> HandOffSink:
        return desk_at(self.folder, self.running.url)

    def away(self) -> HandOffSink:
        return desk_at(self.folder, f"http://127.0.0.1:{free_port()}/", timeout_s=1.0)

    def arrived(self) -> list[Ticket]:
        return [of_document(request.body) for request in self.running.requests]
