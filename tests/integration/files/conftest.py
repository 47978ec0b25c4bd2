"""A server that speaks like S3, and the keys to it."""

from collections.abc import Iterator

import pytest
from buckets import KEYS, BucketServer


@pytest.fixture(scope="module")
def server() -> Iterator[BucketServer]:
    with BucketServer() as server:
        yield server


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a deployment has in its environment to reach a bucket."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
