"""A platform in memory."""

from collections.abc import Iterator

import pytest

from ctfd_twisted.testing import MemoryPlatform


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    """A competition of single users that has no bounds in time."""
    platform = MemoryPlatform().setup()
    yield platform
    platform.close()
