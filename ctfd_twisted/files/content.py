"""Where the content of files is kept, and what every store holds to: a folder (``disk``) or a bucket (``s3``)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ctfd_twisted.files.rules import Version


class StoreTrouble(OSError):
    """The store can't be used at present; the text says which, and why."""


class Readable(Protocol):
    """Content that is read, in threads."""

    def seek(self, position: int, /) -> int:
        """Read from *position* on."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end. Raises ``OSError``."""

    def close(self) -> None:
        """Read no more."""


class Content(NamedTuple):
    """Content that is open, and which version of it was opened."""

    file: Readable
    version: Version


class Elsewhere(NamedTuple):
    """Where whoever may have a file is sent for its content, for some time."""

    url: str


class Staged(Protocol):
    """Content that comes; it is at no location until it is kept."""

    def write(self, data: bytes | bytearray) -> None:
        """Take the next piece. Raises ``OSError``."""

    def close(self) -> None:
        """Know that all of it has come. Raises ``OSError``."""

    def keep(self, location: str) -> None:
        """Be the content at *location*, all at once, in place of what may be there. Raises ``OSError``.

        Where it fails, something may be at *location* and at the one that the content was staged for.
        """

    def discard(self) -> None:
        """Forget what was not kept; may be called again, and whenever it is."""


class Store(Protocol):
    """Content by its location, ``<directory>/<name>``. Every method waits, so it is called in a thread."""

    def check(self) -> None:
        """Raise ``OSError``, which says why, where no files can be kept here."""

    def open(self, location: str) -> Content | None:
        """The content at *location*; ``None`` where there is none. Raises ``OSError``."""

    def offer(self, location: str, name: str, method: str) -> Content | Elsewhere | None:
        """What a client is answered who asks by *method* (``GET``, ``HEAD``), and saves it as *name*; as ``open``."""

    def stage(self, location: str) -> Staged:
        """A place for content that comes, most likely to be kept at *location*. Raises ``OSError``."""

    def remove(self, location: str, *, directory: bool) -> None:
        """Remove the content at *location*; *directory* says that nothing else in its directory is wanted either.

        What is not there is no error. Raises ``OSError``.
        """

    def forget(self) -> None:
        """Remove what was staged long ago by processes that ended before they could. Raises ``OSError``."""
