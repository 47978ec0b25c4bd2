"""A platform in memory whose files are in folders of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing import MemoryPlatform

Make = Callable[..., Any]


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[MemoryPlatform]:
    """A competition of single users."""
    platform = MemoryPlatform(data_dir=tmp_path, uploads=tmp_path / "uploads").setup()
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
