"""What challenges are worth now, and what the public may know of it while the board is frozen.

A decaying value is a pure function of the challenge's settings and the number of solves that count. Whatever changes
one of the two calls ``recompute_values`` in the same transaction: a solve, an edited challenge, an account that is
hidden, banned, shown again or deleted, a submission that an administrator changes, an import.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, func, not_, select, update

from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.tables import config
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.interfaces import IChallengeType
from ctfd_twisted.scoring.accounts import AccountKind, account_kind
from ctfd_twisted.scoring.tables import solves, submissions

#: Challenges whose value follows the solves, by id: of which kind they are, and that kind's settings.
Worth = dict[int, tuple[IChallengeType, Mapping[str, Any]]]

# Built once for the transaction that runs most often. The challenge is locked before its solves are counted, so that
# another's solve is either counted here, or waits for this commit and counts for itself.
_LOCKED: Final = Ready(
    select(challenges.c.value).where(challenges.c.id == bindparam("challenge")).with_for_update(key_share=True)
)


def _listed_solves(kind: AccountKind) -> Select[Any]:
    """How many listed accounts have solved a challenge: all who have, less the few who are not listed.

    The first are counted, next to each other in one index, and the second found by another; looking up whose each solve
    is would cost ten times as much.
    """
    solved = select(func.count()).select_from(solves).where(solves.c.challenge_id == bindparam("challenge"))
    everybody = solved.where(kind.of(solves).is_not(None)).scalar_subquery()
    unlisted = solved.where(kind.of(solves).in_(select(kind.table.c.id).where(not_(kind.listed)))).scalar_subquery()
    return select(everybody - unlisted)


_COUNTED: Final = {
    teams_mode: Ready(_listed_solves(kind))
    for teams_mode in (False, True)
    for kind in (account_kind(teams_mode=teams_mode),)
}
_REVALUE: Final = Ready(
    update(challenges).where(challenges.c.id == bindparam("challenge")).values(value=bindparam("worth"))
)

_MODE = select(config.c.value).where(config.c.key == "user_mode").order_by(config.c.id).limit(1)


def present_kind(conn: Connection) -> AccountKind:
    """Who scores, as the settings say within this transaction."""
    return account_kind(teams_mode=conn.execute(_MODE).scalar() == "teams")


def recompute_values(conn: Connection, challenge_ids: Iterable[int] | None = None) -> dict[int, int]:
    """Make the stored values of *challenge_ids* (``None``: of all challenges) what the counted solves say.

    Returns the values of those that follow the solves; the others keep theirs. Touches ``challenges`` and ``standings``
    in any case, since whoever calls this has moved counts.
    """
    touch(conn, "challenges", "standings")
    # Locked in the order of ids, so that two who recompute never wait for each other. Another's solve of one of these
    # is then either counted below, or waits for this commit and counts for itself.
    rows = select(challenges.c.id, challenges.c.type, challenges.c.value).order_by(challenges.c.id)
    if challenge_ids is not None:
        rows = rows.where(challenges.c.id.in_(sorted(set(challenge_ids))))
    stored = conn.execute(rows.with_for_update(key_share=True)).all()
    values = _values(conn, present_kind(conn), following(conn, {row.id: row.type for row in stored}))
    for row in stored:
        value = values.get(row.id, row.value)
        if value != row.value:
            conn.execute(update(challenges).where(challenges.c.id == row.id).values(value=value))
    return values


def recount(conn: Connection, worth: Worth, *, teams_mode: bool) -> dict[int, int]:
    """Make the stored values of *worth* right after new solves, and give back how many solves of each count now.

    ``recompute_values`` for challenges whose kind and settings are known, and are asked for often.
    """
    # Locked in the order of ids, as there.
    numbers = sorted(worth)
    facts = [{"challenge": number} for number in numbers]
    stored = [row.value for (row,) in _LOCKED.each(conn, facts)]
    counts = {number: row[0] for number, (row,) in zip(numbers, _COUNTED[teams_mode].each(conn, facts), strict=True)}
    revalued = []
    for number, before in zip(numbers, stored, strict=True):
        kind, settings = worth[number]
        value = kind.value_after(settings, counts[number])
        if value is not None and value != before:
            revalued.append({"challenge": number, "worth": value})
    _REVALUE.run_each(conn, revalued)
    return counts


def frozen_values(conn: Connection, competition: Competition) -> dict[int, int]:
    """The values that the public goes on to see after the freeze, where they are not the stored ones.

    A value that follows the solves stands still with the count of solves before the freeze; ``{}`` without a freeze.
    """
    freeze = competition.frozen_at
    if freeze is None:
        return {}
    rows = conn.execute(select(challenges.c.id, challenges.c.type, challenges.c.value)).all()
    kind = account_kind(teams_mode=competition.teams)
    values = _values(conn, kind, following(conn, {row.id: row.type for row in rows}), before=freeze)
    return {row.id: values[row.id] for row in rows if values.get(row.id, row.value) != row.value}


def following(conn: Connection, types: Mapping[int, str | None]) -> Worth:
    """Those of *types* (challenge ids to type names) whose value follows the solves."""
    ids_by_type: dict[str, list[int]] = {}
    for challenge_id, name in types.items():
        ids_by_type.setdefault(name or "standard", []).append(challenge_id)
    return {
        challenge_id: (kind, settings)
        for name, ids in ids_by_type.items()
        if (kind := challenge_types().get(name)) is not None
        for challenge_id, settings in kind.settings(conn, ids).items()
        if kind.value_after(settings, 0) is not None
    }


def counted_solves(
    conn: Connection,
    kind: AccountKind,
    challenge_ids: Sequence[int] | None = None,
    *,
    before: datetime | None = None,
) -> dict[int, int]:
    """How many accounts that are neither hidden nor banned have solved each challenge; one that nobody has is absent.

    *challenge_ids* ``None`` means all; *before* leaves out the solves dated at or after it.
    """
    counted = (
        select(solves.c.challenge_id, func.count().label("solves"))
        .where(solves.c.challenge_id.is_not(None))
        .group_by(solves.c.challenge_id)
    )
    if challenge_ids is None:
        # The few who are not listed are found once; looking up whose each solve is costs twice what counting does.
        unlisted = select(kind.table.c.id).where(not_(kind.listed))
        counted = counted.where(kind.of(solves).is_not(None), kind.of(solves).not_in(unlisted))
    else:
        counted = counted.join(kind.table, kind.table.c.id == kind.of(solves)).where(kind.listed)
        counted = counted.where(solves.c.challenge_id.in_(challenge_ids))
    if before is not None:
        counted = counted.join(submissions, submissions.c.id == solves.c.id).where(submissions.c.date < before)
    return {row.challenge_id: row.solves for row in conn.execute(counted)}


def _values(conn: Connection, accounts: AccountKind, worth: Worth, *, before: datetime | None = None) -> dict[int, int]:
    if not worth:
        return {}
    counts = counted_solves(conn, accounts, tuple(worth), before=before)
    values = {number: kind.value_after(settings, counts.get(number, 0)) for number, (kind, settings) in worth.items()}
    return {number: value for number, value in values.items() if value is not None}
