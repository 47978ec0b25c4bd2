"""What accounts gain, and what of them is known. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import msgspec


class Seen(NamedTuple):
    """How many solves and awards of an account are known, and the largest id among them."""

    solves: int = 0
    last_solve: int = 0
    awards: int = 0
    last_award: int = 0


class Row(NamedTuple):
    """A solve, or an award, whose ``challenge_id`` is None; what is worth nothing is one, too."""

    id: int
    challenge_id: int | None
    value: int
    date: datetime | None


class Gained(msgspec.Struct, frozen=True):
    """The *rows* of an account that were not seen yet, and what is *seen* with them; None where they do not add up."""

    rows: list[Row]
    seen: Seen | None
