"""A desk over the library's documents, indexed once."""

from __future__ import annotations

import pytest

from tests.support.cli_helpers import Desk


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose documents are indexed; runs write conversations of their own there."""
    place = tmp_path_factory.mktemp("batch")
    desk = Desk(place / "data", place)
    desk.index()
    return desk
