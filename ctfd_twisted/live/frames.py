"""Server-sent events as bytes: no blank after a colon, one line of data each. Pure."""

from __future__ import annotations

from typing import Final

#: What CTFd's clients get where nothing happens, and after each event.
PING: Final = b"event:ping\ndata:ping\n\n"
#: The same for those who asked for channels: a comment, which reaches no script.
BEAT: Final = b":\n\n"
#: Ends an answer that is sent in chunks.
LAST: Final = b"0\r\n\r\n"


def frame(event: str, data: bytes) -> bytes:
    """One event; *data* is one line, as JSON is."""
    return b"event:%s\ndata:%s\n\n" % (event.encode("ascii"), data)


def numbered(event_id: str, body: bytes) -> bytes:
    """An event of :func:`frame` under an id."""
    return b"id:%s\n%s" % (event_id.encode("ascii"), body)


def chunk(data: bytes) -> bytes:
    """*data*, which is not empty, as one chunk of an HTTP/1.1 answer."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def unchunked(data: bytes) -> bytes:
    """What :func:`chunk` was given, for the rare client that speaks HTTP/1.0."""
    return data[data.index(b"\n") + 1 : -2]
