"""Server-sent events as CTFd's clients read them: no blank after a colon, no ids. Pure."""

from __future__ import annotations

from typing import Final

PING: Final = b"event:ping\ndata:ping\n\n"


def frame(event: str, data: bytes) -> bytes:
    """One event; *data* is one line, as JSON is."""
    return b"event:%s\ndata:%s\n\n" % (event.encode("ascii"), data)
