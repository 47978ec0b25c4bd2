"""What the administrators' pages of hills show, read in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import NotFound
from ctfd_twisted.koth.boards import EVERYTHING, Hill, Tick, failing_hills, read_hills, read_ticks
from ctfd_twisted.koth.settings_shown import readout
from ctfd_twisted.koth.store import read_settings_of
from ctfd_twisted.koth.voids import Void, read_voids

#: The newest ticks that the list shows of each hill.
LAST_TICKS: Final = 24

#: What every challenge has, and the form of a hill asks for.
COMMON: Final = ("name", "category", "description", "connection_info", "state")


class HillLine(msgspec.Struct, frozen=True):
    """One hill in the list; ``ticks`` are its newest, the oldest of them first."""

    hill: Hill
    state: str
    ticks: tuple[Tick, ...]


class HillPage(msgspec.Struct, frozen=True):
    """One hill: its settings as the form shows them, some of its ticks, newest first, and what was taken back."""

    hill: Hill
    values: Mapping[str, Any]
    ticks: tuple[Tick, ...]
    total: int
    voids: tuple[Void, ...]


def read_hill_list(
    conn: Connection, competition: Competition
) -> tuple[tuple[HillLine, ...], tuple[tuple[int, str, int, str], ...]]:
    """Every hill with its newest ticks; and those that have failed for long, as ``failing_hills`` gives them."""
    states = {
        row.id: row.state
        for row in conn.execute(select(challenges.c.id, challenges.c.state).where(challenges.c.type == "koth"))
    }
    lines = []
    for hill in read_hills(conn, teams_mode=competition.teams):
        ticks, _ = read_ticks(
            conn, hill.challenge_id, teams_mode=competition.teams, sight=EVERYTHING, limit=LAST_TICKS, offset=0
        )
        lines.append(HillLine(hill, states.get(hill.challenge_id, "hidden"), ticks[::-1]))
    return tuple(lines), failing_hills(conn)


def read_hill_page(
    conn: Connection, competition: Competition, challenge_id: int, outcome: str | None, offset: int, limit: int
) -> HillPage:
    """One hill with *limit* of its ticks from *offset*, those with *outcome* alone if given. Raises ``NotFound``."""
    hill = next(iter(read_hills(conn, teams_mode=competition.teams, only=challenge_id)), None)
    settings = read_settings_of(conn, [challenge_id]).get(challenge_id)
    columns = [challenges.c[name] for name in COMMON]
    common = conn.execute(select(*columns).where(challenges.c.id == challenge_id)).mappings().first()
    if hill is None or settings is None or common is None:
        raise NotFound
    ticks, total = read_ticks(
        conn,
        challenge_id,
        teams_mode=competition.teams,
        sight=EVERYTHING,
        outcome=outcome,
        limit=limit,
        offset=offset,
    )
    return HillPage(hill, {**common, **readout(settings)}, ticks, total, tuple(read_voids(conn, challenge_id)))
