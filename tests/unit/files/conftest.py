"""A platform in memory whose uploads are in a folder of their own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctfd_twisted.challenges.tables import files
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform

Make = Callable[..., Any]


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    return tmp_path / "uploads"


@pytest.fixture
def platform(uploads: Path) -> Iterator[MemoryPlatform]:
    """A competition of single users that has no bounds in time."""
    platform = MemoryPlatform(uploads=uploads).setup()
    yield platform
    platform.close()


@pytest.fixture
def put(make: Make, uploads: Path) -> Make:
    """Stores a file as CTFd would have: ``put("dir/a.txt", b"...", challenge_id=1)``; its id."""

    def put(location: str, content: bytes = b"content", **columns: Any) -> int:
        path = uploads / location
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        number: int = make(insert_row, files, {"type": "standard", "location": location, **columns})
        return number

    return put
