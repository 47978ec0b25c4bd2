"""The statements of one attempt, compiled once: the rest of SQLAlchemy would cost more than running them.

Those that are about an account come in a pair, by whether teams play.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Table, bindparam, case, delete, func, insert, literal, or_, select, text

from ctfd_twisted.accounts.tables import audience_members, teams, users
from ctfd_twisted.challenges.tables import challenge_ends, challenges, flags, module_audience_access
from ctfd_twisted.db.among import among
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.rules import LONG_AGO
from ctfd_twisted.scoring.tables import solves, submissions

__all__ = [
    "ACCOUNT", "CHALLENGE", "EXISTING", "FORGET", "FREE_ACCOUNT", "LONG_AGO", "MEMBERS", "MODULES", "PARTIALS",
    "RECORD", "RECORD_SOLVE", "SETTINGS", "SOLVE", "SOLVED", "TRIED",
]  # fmt: skip

# The oldest row of a key counts, as everywhere, so it is read last.
SETTINGS: Final = Ready(text(
    "SELECT key, value FROM config WHERE key IN ('ctf_name', 'end', 'incorrect_submissions_per_min',"
    " 'max_attempts_behavior', 'max_attempts_timeout', 'paused', 'start', 'user_mode', 'view_after_ctf')"
    " ORDER BY id DESC"
))  # fmt: skip


def _account(*, teams_mode: bool, waits: bool) -> Select[Any]:
    """A user's account, locked; without a row where somebody else holds it and this does not wait.

    "NO KEY" does not hold up the foreign keys that other transactions check against the row. SQLite needs no lock: a
    write transaction is alone in the file. Where teams play the member is locked as well, after the team as elsewhere:
    whoever waited here for an administrator is asked again whether they are still there, and still in the team.
    """
    user = users.c.name.label("user_name"), users.c.banned.label("user_banned")
    if teams_mode:
        columns = teams.c.hidden, teams.c.banned, teams.c.id.label("team_id"), teams.c.name.label("team_name")
        rows = select(*user, *columns).join(teams, teams.c.id == users.c.team_id)
        locked: tuple[Table, ...] = (teams, users)
    else:
        nobody = literal(None).label("team_id"), literal(None).label("team_name")
        rows = select(*user, users.c.hidden, users.c.banned, *nobody)
        locked = (users,)
    return rows.where(users.c.id == bindparam("user")).with_for_update(key_share=True, of=locked, skip_locked=not waits)


#: By whether teams play. Of the users of many attempts nobody is waited for.
ACCOUNT: Final = {teams_mode: Ready(_account(teams_mode=teams_mode, waits=True)) for teams_mode in (False, True)}
FREE_ACCOUNT: Final = {teams_mode: Ready(_account(teams_mode=teams_mode, waits=False)) for teams_mode in (False, True)}

_JOINED: Final = challenges.outerjoin(challenge_ends, challenge_ends.c.challenge_id == challenges.c.id).outerjoin(
    flags, flags.c.challenge_id == challenges.c.id
)
_CHALLENGE: Final = (
    select(
        challenges.c.id,
        challenges.c.name,
        challenges.c.category,
        challenges.c.type,
        challenges.c.state,
        challenges.c.value,
        challenges.c.max_attempts,
        challenges.c.logic,
        challenges.c.scheduled_at,
        challenges.c.module_id,
        challenges.c.requirements,
        challenge_ends.c.ends_at,
        flags.c.id.label("flag_id"),
        flags.c.type.label("flag_type"),
        flags.c.content.label("flag_content"),
        flags.c.data.label("flag_data"),
    )
    .select_from(_JOINED)
    .where(challenges.c.id == bindparam("challenge"))
    .order_by(flags.c.id)
)
#: For a trial that writes nothing.
CHALLENGE: Final = Ready(_CHALLENGE)

EXISTING: Final = Ready(select(challenges.c.id).where(among(challenges.c.id, "challenges")))

MEMBERS: Final = Ready(select(users.c.id).where(users.c.team_id == bindparam("team")))

_COLUMNS: Final = ("challenge_id", "user_id", "team_id", "ip", "provided", "type", "date")
RECORD: Final = Ready(insert(submissions).inline(), _COLUMNS)
RECORD_SOLVE: Final = Ready(insert(submissions).returning(submissions.c.id), _COLUMNS)
# Both dialects read it alike, which SQLAlchemy has no common words for. No row comes where it was there.
SOLVE: Final = Ready(text(
    "INSERT INTO solves (id, challenge_id, user_id, team_id) VALUES (:id, :challenge_id, :user_id, :team_id)"
    " ON CONFLICT DO NOTHING RETURNING id"
))  # fmt: skip
FORGET: Final = Ready(delete(submissions).where(submissions.c.id == bindparam("id")))


def _solved(*, teams_mode: bool) -> Select[Any]:
    return select(solves.c.challenge_id).where(account_kind(teams_mode=teams_mode).of(solves) == bindparam("account"))


def _modules(*, teams_mode: bool) -> Select[Any]:
    member = account_kind(teams_mode=teams_mode).of(audience_members)
    return (
        select(module_audience_access.c.module_id)
        .join(audience_members, audience_members.c.audience_id == module_audience_access.c.audience_id)
        .where(member == bindparam("account"))
    )


def _partials(*, teams_mode: bool) -> Select[Any]:
    return select(submissions.c.user_id, submissions.c.provided).where(
        account_kind(teams_mode=teams_mode).of(submissions) == bindparam("account"),
        submissions.c.challenge_id == bindparam("challenge"),
        submissions.c.type == "partial",
    )


def _tried(*, teams_mode: bool) -> Select[Any]:
    """The challenge with its flags, and in each row the account's wrong answers here and everywhere, and its solves.

    The challenge is not deleted meanwhile. Wrong answers here are looked for only where their number is limited.
    """
    kind = account_kind(teams_mode=teams_mode)
    mine = kind.of(submissions) == bindparam("account"), submissions.c.type == "incorrect"
    answers, oldest = func.count(), func.min(submissions.c.date)
    # Both at once: the oldest alone PostgreSQL would look for among everybody's answers of the last minute.
    everywhere = (
        select(answers.label("answers"), oldest.label("oldest"))
        .where(*mine, submissions.c.date > bindparam("minute"))
        .subquery("everywhere")
    )

    def here(what: ColumnElement[Any]) -> ColumnElement[Any]:
        on_it = submissions.c.challenge_id == bindparam("challenge"), submissions.c.date > bindparam("since")
        wrong = select(what).select_from(submissions).where(*mine, *on_it)
        return case((challenges.c.max_attempts > 0, wrong.scalar_subquery()))

    # A user who has changed teams may have solved it for the other one, and solves nothing twice.
    solved = (
        select(func.count())
        .select_from(solves)
        .where(
            solves.c.challenge_id == bindparam("challenge"),
            or_(kind.of(solves) == bindparam("account"), solves.c.user_id == bindparam("user")),
        )
        .scalar_subquery()
    )
    return (
        _CHALLENGE.add_columns(
            everywhere.c.answers.label("everywhere_count"),
            everywhere.c.oldest.label("everywhere_oldest"),
            here(answers).label("here_count"),
            here(oldest).label("here_oldest"),
            solved.label("solved"),
        )
        .join_from(_JOINED, everywhere, literal(value=True))
        .with_for_update(read=True, key_share=True, of=challenges)
    )


SOLVED: Final = {teams_mode: Ready(_solved(teams_mode=teams_mode)) for teams_mode in (False, True)}
MODULES: Final = {teams_mode: Ready(_modules(teams_mode=teams_mode)) for teams_mode in (False, True)}
PARTIALS: Final = {teams_mode: Ready(_partials(teams_mode=teams_mode)) for teams_mode in (False, True)}
TRIED: Final = {teams_mode: Ready(_tried(teams_mode=teams_mode)) for teams_mode in (False, True)}
