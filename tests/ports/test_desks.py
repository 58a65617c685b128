from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.fakes.desk import FakeDesk
from contracts.enums import Delivery
from contracts.errors import HandOffFailed
from contracts.ports import HandOffDesk
from contracts.report import Delivered, Ticket
from tests.support.hand_off.receiver import free_port, receiver
from tests.support.hand_off.sender import desk_at
from tests.support.ports.desk_conformance import DeskConformance


class TestFake(DeskConformance):
    @pytest.fixture(autouse=True)
    def _on(self) -> None:
        self.made = FakeDesk()

    def desk(self) -> HandOffDesk:
        return self.made

    def away(self) -> HandOffDesk:
        return FakeDesk(Delivered(delivery=Delivery.KEPT, why="It is away."))

    def broken(self) -> HandOffDesk:
        return FakeDesk(HandOffFailed("The disk is full."))

    def arrived(self) -> list[Ticket]:
        return self.made.tickets


def of_document(raw: bytes) -> Ticket:
    return Ticket.model_validate(
        {name: value for name, value in json.loads(raw).items() if name not in ("id", "kept_at")}
    )


class OnDisk(DeskConformance):
    """Desks with an outbox of their own."""

    @pytest.fixture(autouse=True)
    def _in(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def broken(self) -> HandOffDesk:
        (self.folder / "file").touch()
        return desk_at(self.folder / "file", str(self.folder / "out"))


class TestFolder(OnDisk):
    def desk(self) -> HandOffDesk:
        return desk_at(self.folder, str(self.folder / "out"))

    def away(self) -> HandOffDesk:
        (self.folder / "in-the-way").touch()
        return desk_at(self.folder, str(self.folder / "in-the-way"))

    def arrived(self) -> list[Ticket]:
        return [of_document(path.read_bytes()) for path in sorted((self.folder / "out").glob("*.json"))]


class TestWebhook(OnDisk):
    @pytest.fixture(autouse=True)
    def _on(self) -> Iterator[None]:
        with receiver() as self.running:
            yield

    def desk(self) -> HandOffDesk:
        return desk_at(self.folder, self.running.url)

    def away(self) -> HandOffDesk:
        return desk_at(self.folder, f"http://127.0.0.1:{free_port()}/", timeout_s=1.0)

    def arrived(self) -> list[Ticket]:
        return [of_document(request.body) for request in self.running.requests]
