"""Desks for the tests of the ways in: the library's documents are indexed once, and copied for who writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli_helpers import Desk


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose documents are indexed, for reading only."""
    place = tmp_path_factory.mktemp("library")
    desk = Desk(place / "data", place)
    desk.index()
    return desk


@pytest.fixture
def desk(library: Desk, tmp_path: Path) -> Desk:
    """A desk of the test's own, with the library's documents indexed."""
    return library.copied(tmp_path / "data")


@pytest.fixture
def empty(tmp_path: Path) -> Desk:
    """A desk where nothing has been indexed yet."""
    return Desk(tmp_path / "data", tmp_path)
