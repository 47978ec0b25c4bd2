"""Who sees which challenge, and how (docs/rules.md#who-sees-a-challenge). Pure.

``reach`` is the one decision; every list, detail, attempt, hint, file and solution asks it and does nothing of its own.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from datetime import datetime
from enum import Enum, auto
from typing import Any, Final, Literal

import msgspec

#: What stands in the place of a name or category that is kept secret.
SECRET_TEXT: Final = "???"  # noqa: S105 - not a password

#: No id has more digits.
_DIGITS: Final = 10

Anonymize = Literal["no", "yes", "preview"]


class Gate(msgspec.Struct, frozen=True):
    """What decides about one challenge; ``prerequisites`` may name challenges that are no longer there."""

    id: int
    state: str
    scheduled_at: datetime | None = None
    module_id: int | None = None
    prerequisites: frozenset[int] = frozenset()
    anonymize: Anonymize = "no"


class Viewer(msgspec.Struct, frozen=True):
    """What is known of somebody who is no administrator: by default somebody who is not signed in.

    ``solved`` are the ids of the challenges that the account has solved, ``modules`` those of the modules that were
    opened to it.
    """

    solved: frozenset[int] = frozenset()
    modules: frozenset[int] = frozenset()


class Reach(Enum):
    """How near somebody comes to a challenge. Everything but ``OPEN`` is closed; the names say why."""

    OPEN = auto()
    #: Prerequisites are missing, and a placeholder with the real name, category, value and tags is shown.
    PREVIEW = auto()
    #: Prerequisites are missing, and a placeholder that tells nothing is shown.
    PLACEHOLDER = auto()
    #: Prerequisites are missing, and nothing is shown.
    UNMET = auto()
    #: Not released yet, or in a module that was not opened to the account.
    CLOSED = auto()
    LOCKED = auto()
    HIDDEN = auto()

    @property
    def exists(self) -> bool:
        """Whether the challenge's existence may be known: such a one is listed, perhaps as a placeholder."""
        return self in _LISTED

    @property
    def accessible(self) -> bool:
        """Whether the solvers, and whether there is a solution, may be asked for at all; files follow the detail."""
        return self not in {Reach.HIDDEN, Reach.CLOSED}

    @property
    def readable(self) -> bool:
        """Whether what hangs on the challenge may be read: a hint's text, a solution's.

        A locked one keeps its hints open, as in CTFd; one whose prerequisites are missing does not.
        """
        return self in _READABLE

    @property
    def named(self) -> bool:
        """Whether name, category and value may be known: such a one is listed under its name."""
        return self in _NAMED


_READABLE: Final = frozenset({Reach.OPEN, Reach.LOCKED})
_NAMED: Final = frozenset({Reach.OPEN, Reach.PREVIEW})
_LISTED: Final = frozenset({Reach.OPEN, Reach.PREVIEW, Reach.PLACEHOLDER})

_UNMET: Final[Mapping[Anonymize, Reach]] = {
    "no": Reach.UNMET,
    "yes": Reach.PLACEHOLDER,
    "preview": Reach.PREVIEW,
}


def reach(gate: Gate, now: datetime, viewer: Viewer, existing: Container[int]) -> Reach:
    """How near *viewer* comes to the challenge of *gate* at *now*; *existing* are the ids of all challenges.

    A state that nobody has defined hides the challenge: the default is no.
    """
    if gate.state == "locked":
        return Reach.LOCKED
    if gate.state != "visible":
        return Reach.HIDDEN
    if gate.scheduled_at is not None and gate.scheduled_at > now:
        return Reach.CLOSED
    if gate.module_id is not None and gate.module_id not in viewer.modules:
        return Reach.CLOSED
    if all(needed in viewer.solved for needed in gate.prerequisites if needed in existing):
        return Reach.OPEN
    return _UNMET[gate.anonymize]


def has_ended(ends_at: datetime | None, now: datetime) -> bool:
    """Whether a challenge takes no answers any more. Who sees it is not changed by its end."""
    return ends_at is not None and now >= ends_at


def gate_of(row: Any) -> Gate:
    """The gate of a challenge, a row with these columns of its table."""
    return Gate(
        row.id,
        row.state,
        row.scheduled_at,
        row.module_id,
        prerequisites_of(row.requirements),
        anonymize_of(row.requirements),
    )


def prerequisites_of(requirements: Mapping[str, Any] | None) -> frozenset[int]:
    """The ids that *requirements* names, as stored; what is no id is ignored."""
    listed = (requirements or {}).get("prerequisites")
    if not isinstance(listed, list):
        return frozenset()
    return frozenset(_id_of(entry) for entry in listed) - {None}  # type: ignore[return-value]


def _id_of(entry: object) -> int | None:
    if isinstance(entry, str) and entry.isascii() and entry.isdigit() and len(entry) <= _DIGITS:
        entry = int(entry)
    # What no column of ids can hold would be an error of the driver wherever it is asked for.
    return entry if isinstance(entry, int) and not isinstance(entry, bool) and 0 < entry < 2**31 else None


def anonymize_of(requirements: Mapping[str, Any] | None) -> Anonymize:
    """How a challenge is shown while its prerequisites are missing: any truthy value but ``"preview"`` is ``"yes"``."""
    wanted = (requirements or {}).get("anonymize")
    if wanted == "preview":
        return "preview"
    return "yes" if wanted else "no"


def order_key(position: int, value: int | None, challenge_id: int) -> tuple[bool, int, int, int]:
    """Sorts challenges: by position, those at 0 last; then by value, then by id."""
    return (position == 0, position, value or 0, challenge_id)


def like(pattern: str, text: str) -> bool:
    """Whether *pattern* occurs in *text* as SQL's ``LIKE '%pattern%'`` finds it, ignoring case.

    ``%`` stands for any characters and ``_`` for one. Players choose the pattern, so it costs one search of the text
    for each piece between two ``%``, and a few comparisons wherever the longest run of the piece's letters is found.
    """
    position = 0
    haystack = text.lower()
    for piece in filter(None, pattern.lower().split("%")):
        position = _find(piece, haystack, position)
        if position < 0:
            return False
    return True


def _find(piece: str, text: str, start: int) -> int:
    """Where the first match of *piece*, with ``_`` for any character, ends in *text* from *start* on; -1 if nowhere."""
    last = len(text) - len(piece)
    if start > last:
        return -1
    runs = [(run.start(), run[0]) for run in _LETTERS.finditer(piece)]
    if not runs:
        return start + len(piece)
    offset, longest = max(runs, key=lambda run: len(run[1]))
    found = text.find(longest, start + offset, last + offset + len(longest))
    while found >= 0:
        begin = found - offset
        if all(text.startswith(run, begin + place) for place, run in runs):
            return begin + len(piece)
        found = text.find(longest, found + 1, last + offset + len(longest))
    return -1


_LETTERS: Final = re.compile("[^_]+")
