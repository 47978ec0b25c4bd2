"""A platform in memory whose events are told."""

from collections.abc import Iterator

import pytest

from ctfd_twisted.live.feed import Feed
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.testing import MemoryPlatform


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    """A competition; of its services only those run that tell events."""
    platform = MemoryPlatform().setup()
    services = [service for service in platform.platform.services if isinstance(service, Hub | Feed)]
    for service in services:
        service.startService()
    yield platform
    for service in services:
        if service.running:
            service.stopService()
    platform.close()


@pytest.fixture
def hub(platform: MemoryPlatform) -> Hub:
    """Where its streams are."""
    return next(service for service in platform.platform.services if isinstance(service, Hub))
