"""Claims about how fast, and for how long, a file is sent."""

import io
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ctfd_twisted.db.database import start_inline
from ctfd_twisted.db.threads import in_thread
from ctfd_twisted.files.content import Content
from ctfd_twisted.files.rules import Version
from ctfd_twisted.files.sending import PATIENCE, PIECE, Download
from ctfd_twisted.testing import result_of


class Client:
    """A request whose client takes *takes* pieces, then says that it has enough."""

    def __init__(self, takes: int) -> None:
        self.got: list[bytes] = []
        self.takes = takes
        self.aborted = False
        self.channel = self.transport = self
        self.producer: Any = None

    def registerProducer(self, producer: Any, streaming: bool) -> None:  # noqa: FBT001, N802 - Twisted's
        assert streaming
        self.producer = producer

    def unregisterProducer(self) -> None:  # noqa: N802 - Twisted's
        self.producer = None

    def abortConnection(self) -> None:  # noqa: N802 - Twisted's
        self.aborted = True

    def write(self, piece: bytes) -> None:
        self.got.append(piece)
        if len(self.got) == self.takes:
            self.producer.pauseProducing()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def begin(client: Client, clock: Clock, body: bytes, wanted: range) -> tuple[Deferred[None], io.BytesIO]:
    file = io.BytesIO(body)
    download = Download(Content(file, Version(len(body), 0)), wanted, in_thread(start_inline), clock)
    sending: Any = client
    return Deferred.fromCoroutine(download.send(sending)), file


BODY = bytes(range(256)) * (PIECE // 64)


def test_a_part_is_sent_in_pieces(clock: Clock) -> None:
    client = Client(takes=0)
    sent, file = begin(client, clock, BODY, range(1, PIECE + 11))
    assert sent.called
    assert [len(piece) for piece in client.got] == [PIECE, 10]
    assert b"".join(client.got) == BODY[1 : PIECE + 11]
    assert (client.producer, file.closed) == (None, True)


def test_nothing_is_read_ahead_of_a_slow_client(clock: Clock) -> None:
    client = Client(takes=2)
    sent, file = begin(client, clock, BODY, range(len(BODY)))
    assert (len(client.got), sent.called, file.tell()) == (2, False, 2 * PIECE)
    clock.advance(PATIENCE - 1)
    client.producer.resumeProducing()
    assert sent.called
    assert b"".join(client.got) == BODY
    assert clock.getDelayedCalls() == []


def test_a_client_that_takes_nothing_is_cut_off(clock: Clock) -> None:
    client = Client(takes=1)
    sent, file = begin(client, clock, BODY, range(len(BODY)))
    clock.advance(PATIENCE)
    assert client.aborted
    # What the lost connection does to whoever waits.
    sent.cancel()
    with pytest.raises(CancelledError):
        result_of(sent)
    assert file.closed


def test_a_file_that_was_cut_short_ends_the_connection(clock: Clock) -> None:
    client = Client(takes=0)
    sent, file = begin(client, clock, b"short", range(100))
    assert sent.called
    assert (client.aborted, file.closed) == (True, True)
