"""A platform in memory, and browsers that submit the forms of its pages."""

from collections.abc import Iterator

import pytest

from ctfd_twisted.testing import MemoryPlatform


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform().setup()
    yield platform
    platform.close()
