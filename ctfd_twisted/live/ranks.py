"""What has changed from one board to the next. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ctfd_twisted.scoring.store import Standing

#: A board of so many rows is told by what moved, however much that is.
_SHORT: Final = 40

_encode: Final = msgspec.json.encode


class Change(NamedTuple):
    """Accounts that are new or have other points, name or bracket, and accounts that are gone.

    All others keep their order: who takes *gone* and *moved* out of the old board, and then puts each of *moved* in at
    its place, the smallest first, has the new one.
    """

    moved: tuple[Standing, ...]
    gone: tuple[int, ...]


def changed(old: Sequence[Standing], new: Sequence[Standing]) -> Change | None:
    """What leads from *old* to *new*; None where others have changed their order too, or there is no less to tell."""
    before = {row.account_id: _facts(row) for row in old}
    moved = tuple(row for row in new if before.get(row.account_id) != _facts(row))
    if len(moved) * 2 > max(len(new), _SHORT):
        return None
    touched = {row.account_id for row in moved}
    here = {row.account_id for row in new}
    gone = tuple(row.account_id for row in old if row.account_id not in here)
    stayed = [row.account_id for row in old if row.account_id in here and row.account_id not in touched]
    if stayed != [row.account_id for row in new if row.account_id not in touched]:
        return None
    return Change(moved, gone)


def shown(row: Standing) -> dict[str, Any]:
    """One row as it is told."""
    return {
        "place": row.place,
        "account_id": row.account_id,
        "name": row.name,
        "score": row.score,
        "bracket_id": row.bracket_id,
    }


def rows(standings: Sequence[Standing]) -> bytes:
    """The rows as a JSON list."""
    return _encode([shown(row) for row in standings])


def version(data: bytes) -> str:
    """A name for *data*: the same on every node."""
    return hashlib.blake2b(data, digest_size=6).hexdigest()


def _facts(row: Standing) -> tuple[object, ...]:
    return row.name, row.score, row.bracket_id
