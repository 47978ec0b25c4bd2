"""How archives and CSV files are written: names, and values as text (contract: archive, sections 1 and 4). Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

#: The folder of what CTFd has no place for; it looks into ``db/`` and ``uploads/`` alone.
OWN: Final = "ctfd-twisted"
MANIFEST: Final = f"{OWN}/manifest.json"
#: What an archive of this layout says of itself.
FORMAT: Final = 1

#: What CTFd takes for an attack in the name of a member, and then refuses the whole archive.
_MALICIOUS: Final = ("..", "//", "\\\\")
#: With these, and their wide forms, a spreadsheet begins a formula.
_FORMULA: Final = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive tells about itself.

    ``own`` counts the rows of each table in the own folder. ``foreign`` names tables of the database that nobody here
    knows, and ``missing`` locations of files that have a row and no content: neither is in the archive. ``apart`` gives
    the locations of uploads whose names CTFd would refuse, by the names that they have here.
    """

    format: int = FORMAT
    version: str
    revision: str
    made: datetime
    own: dict[str, int]
    foreign: tuple[str, ...]
    missing: tuple[str, ...]
    apart: dict[str, str]


def table_member(table: str) -> str:
    """The name of the member that holds one of CTFd's tables."""
    return f"db/{table}.json"


def own_member(table: str) -> str:
    """The name of the member that holds a table of ours, or what CTFd can't have of one of its own."""
    return f"{OWN}/db/{table}.json"


def upload_member(location: str, number: int) -> str:
    """The name of the member that holds the upload at *location*: by its *number* where CTFd would refuse the name."""
    name = f"uploads/{location}"
    return f"{OWN}/uploads/{number}" if any(sign in name for sign in _MALICIOUS) else name


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"{value!r} has no form in JSON")


_encode: Final = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


def encoded_rows(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """*rows* as JSON objects with commas between them, in ASCII.

    An instant is ISO 8601 in UTC without a zone, and without a fraction where that is zero; bytes are base64.
    """
    return _encode(rows)[1:-1].encode("ascii")


def head(count: int) -> bytes:
    """What stands before the rows of a table that has some."""
    return b'{"count":%d,"results":[' % count


#: What stands behind them.
TAIL: Final = b'],"meta":{}}'


def cell(value: object) -> object:
    """*value* as it stands in a cell: instants to the microsecond, and other values as Python writes them."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
    return value


def harmless(value: object) -> object:
    """A cell that a player filled: text with which a formula could begin gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else cell(value)


def archive_name(competition: str, now: datetime) -> str:
    """The name under which an archive is downloaded; the hour is that of the server's clock."""
    return f"{competition}.{_stamp(now)}.zip"


def sheet_name(competition: str, sheet: str, now: datetime | None = None) -> str:
    """The name under which a CSV file is downloaded, with the hour where *now* is given."""
    return f"{competition}-{sheet}{'' if now is None else f'-{_stamp(now)}'}.csv"


def _stamp(now: datetime) -> str:
    return now.astimezone().strftime("%Y-%m-%d_%H:%M:%S")
