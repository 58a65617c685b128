"""A server on a port of this machine, as people run it, and who asks it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.deployment import deployment
from tests.support.cli_helpers import Desk
from tests.support.web_server import ROLES, Running, serve_deployment


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose documents are indexed, for copying only."""
    place = tmp_path_factory.mktemp("web-library")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@pytest.fixture(scope="module")
def server(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of the module's own, with the library's documents, and a key for each of `ROLES`."""
    desk = library.copied(tmp_path_factory.mktemp("served") / "data")
    with serve_deployment(deployment(environment=desk.environment), keys=ROLES) as running:
        yield running
