"""Transactions over hills: their settings, and who may be their king."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, select, update

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.competition.store import read_competition, read_secret
from ctfd_twisted.db.notices import touch
from ctfd_twisted.koth.identifiers import Directory, Match, Person, allowed_ways, hill_token
from ctfd_twisted.koth.keys import TOKENS, ensure_secrets
from ctfd_twisted.koth.rules import NO_REIGN, Account, Reign
from ctfd_twisted.koth.schedule import Schedule, moved_first_tick
from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.tables import hills, ticks, voids

SETTINGS: Final = tuple(field.name for field in msgspec.structs.fields(HillSettings))
_SETTINGS_COLUMNS: Final = tuple(hills.c[name] for name in SETTINGS)

_TEAM: Final = select(teams.c.id, teams.c.banned, teams.c.hidden).where(teams.c.id == bindparam("id"))
_USER: Final = (
    select(
        users.c.id,
        users.c.type,
        users.c.banned,
        users.c.hidden,
        users.c.team_id,
        teams.c.banned.label("team_banned"),
        teams.c.hidden.label("team_hidden"),
    )
    .outerjoin(teams, teams.c.id == users.c.team_id)
    .where(users.c.id == bindparam("id"))
)
#: The state of a hill that was never polled.
_FRESH: Final[Mapping[str, object]] = {
    "next_tick": 0,
    "running": False,
    "failures": 0,
    "reset_asked": False,
}


def settings_of(row: Row[Any]) -> HillSettings:
    """The settings in a row of ``ctfp_hills``."""
    return HillSettings(**{name: row._mapping[name] for name in SETTINGS})  # noqa: SLF001 - SQLAlchemy's public name


def schedule_of(row: Row[Any], secret: str) -> Schedule | None:
    """The schedule in a row of ``ctfp_hills``; None before the first tick."""
    if row.first_tick is None:
        return None
    return Schedule(row.challenge_id, row.first_tick, row.interval, row.jitter, secret)


def reign_of(row: Row[Any]) -> Reign:
    """The present reign in a row of ``ctfp_hills``."""
    return Reign(row.king_user_id, row.king_team_id, row.reign, row.king_since, row.reign_ticks)


def reign_values(reign: Reign) -> dict[str, object]:
    """The columns of ``ctfp_hills`` that hold *reign*."""
    return {
        "king_user_id": reign.user_id,
        "king_team_id": reign.team_id,
        "king_since": reign.since,
        "reign": reign.number,
        "reign_ticks": reign.ticks,
    }


def read_settings_of(conn: Connection, challenge_ids: Iterable[int]) -> dict[int, HillSettings]:
    """The settings of those of *challenge_ids* that are hills."""
    found = conn.execute(
        select(hills.c.challenge_id, *_SETTINGS_COLUMNS).where(hills.c.challenge_id.in_(list(challenge_ids)))
    )
    return {row.challenge_id: settings_of(row) for row in found}


def write_settings(conn: Connection, now: datetime, challenge_id: int, settings: HillSettings) -> None:
    """Store *settings* of a hill that may be new.

    A change of the interval keeps the numbers of the ticks: none is used twice and none is left out.
    """
    values: dict[str, object] = msgspec.structs.asdict(settings)
    row = conn.execute(select(hills).where(hills.c.challenge_id == challenge_id).with_for_update()).first()
    if row is not None and settings_of(row) == settings:
        return
    if row is None:
        ensure_secrets(conn)
        fresh = {**_FRESH, **reign_values(NO_REIGN)}
        conn.execute(hills.insert().values(challenge_id=challenge_id, **values, **fresh))
    else:
        if row.first_tick is not None and row.interval != settings.interval:
            moved = moved_first_tick(row.first_tick, row.interval, settings.interval, row.next_tick, now)
            values["first_tick"] = moved
        conn.execute(update(hills).where(hills.c.challenge_id == challenge_id).values(**values))
    touch(conn, "hills")


def forget_ticks(conn: Connection) -> None:
    """Forget all that was played on hills: ticks, voids, kings; their settings stay.

    For whoever resets a competition, beside deleting the awards. Hills that are open begin anew with tick 0.
    """
    conn.execute(delete(ticks))
    conn.execute(delete(voids))
    forgotten = ("first_tick", "last_outcome", "resetting_since", "last_reset", "reset_problem")
    conn.execute(update(hills).values(**_FRESH, **dict.fromkeys(forgotten), **reign_values(NO_REIGN)))
    touch(conn, "hills", "ticks")


def read_directory(conn: Connection) -> Directory:
    """Everybody whom an identifier may name, by the competition's mode and its setting ``koth_identifiers``."""
    competition = read_competition(conn)
    ways = allowed_ways(competition.text("koth_identifiers"))
    secret = read_secret(conn, TOKENS)
    if secret is None:
        ways -= {"token"}  # nobody was shown one yet, and a token made with no secret would be anybody's
    mails = "email" in ways
    found = conn.execute(select(users.c.id, users.c.name, users.c.email))
    people = [Person(row.id, row.name or "", row.email if mails else None) for row in found]
    groups: Sequence[Person] | None = None
    if competition.teams:
        groups = [Person(row.id, row.name or "") for row in conn.execute(select(teams.c.id, teams.c.name))]
    return Directory(people, groups, ways, secret or "")


def read_token(conn: Connection, player: Player, *, teams_mode: bool) -> str | None:
    """The hill token of the account that *player* plays for; None without one, as for who has no team yet."""
    secret = read_secret(conn, TOKENS)
    if secret is None:
        return None
    if not teams_mode:
        return hill_token(secret, "user", player.id)
    return None if player.team_id is None else hill_token(secret, "team", player.team_id)


def find_account(conn: Connection, match: Match, *, teams_mode: bool) -> Account | None:
    """The account of *match* as it is now, and why it can't be king, if it can't; None where it was deleted.

    A flag that is NULL in an old row counts as set, as it does on the scoreboard.
    """
    if match.kind == "team":
        team = conn.execute(_TEAM, {"id": match.id}).first()
        return None if team is None else Account(None, team.id, _problem("the team", team.banned, team.hidden))
    user = conn.execute(_USER, {"id": match.id}).first()
    if user is None:
        return None
    if user.type == "admin":
        return Account(user.id, user.team_id, "the user is an administrator")
    problem = _problem("the user", user.banned, user.hidden)
    if teams_mode and not problem:
        if user.team_id is None:
            problem = "the user has no team"
        else:
            problem = _problem("the team", user.team_banned, user.team_hidden)
    return Account(user.id, user.team_id, problem)


def _problem(who: str, banned: bool | None, hidden: bool | None) -> str:  # noqa: FBT001 - two columns in their order
    if banned is not False:
        return f"{who} is banned"
    return f"{who} is hidden" if hidden is not False else ""
