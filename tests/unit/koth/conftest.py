"""A place where hills are polled, and a platform with one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ctfd_twisted.testing import result_of
from tests.unit.koth.arena import Arena
from tests.unit.koth.place import Place


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.db.close()


@pytest.fixture
def arena() -> Iterator[Arena]:
    made = Arena()
    yield made
    if made.poller.running:
        result_of(made.poller.stopService())
    made.platform.close()
