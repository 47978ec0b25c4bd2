"""A platform in memory whose files are in folders of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ctfd_twisted.testing import MemoryPlatform


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[MemoryPlatform]:
    """A competition of single users."""
    platform = MemoryPlatform(data_dir=tmp_path, uploads=tmp_path / "uploads").setup()
    yield platform
    platform.close()
