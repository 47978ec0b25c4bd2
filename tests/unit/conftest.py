"""A platform in memory, and rows in it; a folder or a file that needs another platform makes its own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing import MemoryPlatform

Make = Callable[..., Any]


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    """A competition of single users that has no bounds in time."""
    platform = MemoryPlatform().setup()
    yield platform
    platform.close()


@pytest.fixture
def make(platform: MemoryPlatform) -> Make:
    """Calls a builder within a transaction of its own: ``make(a_challenge, value=5)``."""

    def make(builder: Callable[..., Any], *args: Any, **columns: Any) -> Any:
        def build(conn: Connection) -> Any:
            touch(conn, EVERYTHING)
            return builder(conn, *args, **columns)

        return platform.run(build)

    return make
