"""Who stands in which place, kept in memory between two changes of the board."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.scoring.rules import ordinal
from ctfd_twisted.scoring.store import standings

_TOPICS = ("standings", "challenges", "accounts", "config")


class Boards:
    """The places of all accounts, and of all people, as the public knows them."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._accounts = Snapshot(db, bus, _account_places, _TOPICS)
        self._people = Snapshot(db, bus, _people_places, _TOPICS)

    async def account_place(self, account_id: int | None) -> str | None:
        """Return the place (``1st``) of an account; ``None`` where it does not stand on the board."""
        return _worded((await self._accounts.get()), account_id)

    async def person_place(self, user_id: int) -> str | None:
        """Return the place of a user among users, also where teams play."""
        return _worded((await self._people.get()), user_id)


def _account_places(conn: Connection) -> Mapping[int, int]:
    return {standing.account_id: standing.place for standing in standings(conn, read_competition(conn))}


def _people_places(conn: Connection) -> Mapping[int, int]:
    return {standing.account_id: standing.place for standing in standings(conn, read_competition(conn), people=True)}


def _worded(places: Mapping[int, int], account_id: int | None) -> str | None:
    place = None if account_id is None else places.get(account_id)
    return None if place is None else ordinal(place)
