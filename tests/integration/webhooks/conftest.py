"""Real sockets under the real reactor, which runs only while a test waits for something."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from tests.integration.webhooks.network import Spin, reactor

T = TypeVar("T")
DEADLINE = 30.0  # seconds; a test that waits longer has failed


@pytest.fixture(scope="session")
def threads() -> Iterator[None]:
    """The reactor's threads, which resolve names, ended with the tests."""
    yield
    if reactor.threadpool is not None:  # other folders' tests use this fixture, too
        reactor._stopThreadPool()


@pytest.fixture
def spin(threads: None) -> Spin:  # noqa: ARG001 - used for its end
    """``spin(coroutine)``: run the reactor until the coroutine is done; its value, or its error."""

    def run(work: Coroutine[Deferred[Any], Any, T]) -> T:
        outcome: list[Any] = []

        def begin() -> None:
            done = Deferred.fromCoroutine(work)
            done.addTimeout(DEADLINE, reactor).addBoth(outcome.append).addBoth(lambda _: reactor.crash())

        reactor.callWhenRunning(begin)
        reactor.run(installSignalHandlers=False)
        (value,) = outcome
        if isinstance(value, Failure):
            value.raiseException()
        return value  # type: ignore[no-any-return]

    return run


@pytest.fixture
def listening(spin: Spin) -> Iterator[Callable[..., int]]:
    """``listening(factory)``: serve on a free port of 127.0.0.1 (or *interface*, with *tls*); the port's number."""
    ports: list[Any] = []

    def listen(factory: Factory, *, interface: str = "127.0.0.1", tls: Any = None) -> int:
        port = (
            reactor.listenTCP(0, factory, interface=interface)
            if tls is None
            else reactor.listenSSL(0, factory, tls, interface=interface)
        )
        ports.append(port)
        return int(port.getHost().port)

    yield listen

    async def close() -> None:
        for port in ports:
            await port.stopListening()
        # What the tests' clients have hung up on is closed here in the reactor's next turns.
        await deferLater(reactor, 0.05)

    spin(close())
