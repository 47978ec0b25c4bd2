"""What HTTP asks about a stored file: is a copy still good, which bytes are wanted, under which name. Pure."""

from __future__ import annotations

import mimetypes
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
#: What may stand in a quoted file name as it is.
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_TYPES: Final = mimetypes.MimeTypes()
#: Characters of a name; file systems have room for 255 bytes.
_LONGEST: Final = 200
_UNKNOWN: Final = "application/octet-stream"


class Version(msgspec.Struct, frozen=True):
    """One state of a stored file: its size in bytes, and when it was last written, in nanoseconds since the epoch."""

    size: int
    modified_ns: int

    @property
    def etag(self) -> str:
        """The strong entity tag; taken from what is on the disk, so that it never speaks of other bytes."""
        return f'"{self.modified_ns:x}-{self.size:x}"'

    @property
    def last_modified(self) -> str:
        """The value of ``Last-Modified``."""
        return format_datetime(self._modified, usegmt=True)

    @property
    def _modified(self) -> datetime:
        return datetime.fromtimestamp(self.modified_ns // 10**9, UTC)

    def is_held(self, headers: Mapping[str, str]) -> bool:
        """Whether the client that sent *headers* (names in lower case) has this version already: the answer is 304."""
        tags = headers.get("if-none-match")
        if tags is not None:
            return tags.strip() == "*" or self.etag in (tag.strip().removeprefix("W/") for tag in tags.split(","))
        since = _date(headers.get("if-modified-since"))
        return since is not None and self._modified <= since

    def wanted(self, headers: Mapping[str, str]) -> range | None:
        """The bytes that *headers* ask for: all of them where there is no range, or none that is understood.

        Several ranges at once are answered with the whole file, which RFC 9110 leaves to the server. ``None`` where
        the range lies outside of the file: the answer is 416.
        """
        whole = range(self.size)
        asked = _RANGE.fullmatch(headers.get("range", "").replace(" ", ""))
        if asked is None or asked[0] == "bytes=-" or not self._still(headers.get("if-range")):
            return whole
        first, last = asked.groups()
        if not first:
            return whole[-int(last) :] or None if int(last) else None
        if last and int(last) < int(first):
            return whole
        return whole[int(first) : int(last) + 1 if last else None] or None

    def _still(self, condition: str | None) -> bool:
        return condition is None or condition.strip() in {self.etag, self.last_modified}


class Place(NamedTuple):
    """Where a file is kept."""

    directory: str
    name: str

    @property
    def location(self) -> str:
        """The two as they stand in a row and in an address."""
        return f"{self.directory}/{self.name}"


def is_location(text: str) -> bool:
    """Whether *text* may be a file's location: a path downwards, without anything that a path means beside names."""
    return "\0" not in text and not any(part in {"", ".", ".."} for part in text.split("/"))


def safe_name(name: str) -> str:
    """*name* without a path, in ASCII letters, digits, ``_``, ``-`` and ``.``, not beginning with a dot; maybe empty.

    Of a long one the end is kept, where its type is told.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    ascii_only = unicodedata.normalize("NFKD", last).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[^A-Za-z0-9_.-]", "", re.sub(r"\s+", "_", ascii_only.strip()))[-_LONGEST:].lstrip(".")


def place_of(location: str) -> Place | None:
    """Where an uploader wants a file; ``None`` where *location* is no directory and a name."""
    directory, slash, name = location.partition("/")
    place = Place(safe_name(directory).replace(".", ""), safe_name(name))
    return place if slash and "/" not in name and place.directory and place.name else None


def content_type(name: str) -> str:
    """The media type by a file's *name*; something packed is only what it is packed as."""
    kind, packed = _TYPES.guess_type(name)
    return _UNKNOWN if kind is None or packed is not None else kind


def disposition(name: str) -> str:
    """``Content-Disposition`` that has a browser save the file as *name*, whatever is in it."""
    if _PLAIN.fullmatch(name):
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'attachment; filename="{quoted}"'
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


def _date(text: str | None) -> datetime | None:
    try:
        found = None if text is None else parsedate_to_datetime(text)
    except ValueError:
        return None
    # A date without a zone cannot be compared, and HTTP knows none.
    return found if found is not None and found.tzinfo is not None else None
