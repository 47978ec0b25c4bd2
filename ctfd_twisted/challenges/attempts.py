"""One attempt at a challenge, from the checks to the stored solve, in one transaction.

Everything that decides is read here, under the lock of the account's row: the competition's times and pause, the
challenge, its flags, how often the account was wrong and whether it has solved it. So of any number of answers that
arrive at once each sees what those before it have stored, on every node: the same right answer is one solve and
"already solved" otherwise, and no limit is exceeded.

It is the transaction that runs most often, so its statements are built once, are few, and read only what is needed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.challenges import attempt_sql as sql
from ctfd_twisted.challenges.asking import Account, locked_account, reach_of
from ctfd_twisted.challenges.judging import Flag, Partial, Trial, Verdict
from ctfd_twisted.challenges.limits import (
    DEFAULT_PER_MINUTE,
    DEFAULT_TIMEOUT,
    WINDOW,
    Limits,
    Refusal,
    Wrong,
    refusal,
    with_tries,
)
from ctfd_twisted.challenges.recording import NewAttempt, store, store_solve
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.rules import Reach, has_ended
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Forbidden, Impossible, NotFound
from ctfd_twisted.interfaces import IChallengeType


class Outcome(msgspec.Struct, frozen=True):
    """What the player is told, and with which HTTP status; ``retry_after`` are the seconds that a refusal lasts."""

    status: str
    message: str
    http_status: int = 200
    retry_after: int | None = None


#: What an attempt meets when the challenge is not open to the account. Administrators are treated alike.
_CLOSED: Final = {
    Reach.HIDDEN: NotFound,
    Reach.CLOSED: NotFound,
    Reach.LOCKED: Forbidden,
    Reach.UNMET: Forbidden,
    Reach.PLACEHOLDER: Forbidden,
    Reach.PREVIEW: Forbidden,
}


def attempt(conn: Connection, now: datetime, new: NewAttempt) -> Outcome:
    """Judge an answer and store what came of it.

    Raises ``Forbidden`` outside the event and where the account may not answer this challenge, ``NotFound`` for a
    challenge that is not there for it.
    """
    competition = Competition(dict(sql.SETTINGS.all(conn)))
    running = competition.running(now)
    if not (running or new.is_admin):
        _demand_viewing(competition, now)
    if competition.paused:
        return Outcome("paused", f"{competition.name} is paused", 403)
    account = locked_account(conn, competition, new.user_id)
    limits = _limits(competition)
    challenge, flags = _tried(conn, now, account, new.challenge_id, limits)
    _demand_open(conn, now, account, challenge)

    max_attempts = challenge.max_attempts or 0
    here = Wrong(challenge.here_count or 0, challenge.here_oldest)
    everywhere = Wrong(challenge.everywhere_count, challenge.everywhere_oldest)
    answer = new.submission.strip()
    refused = refusal(limits, now, max_attempts, here, everywhere)
    if refused is not None:
        return _refuse(conn, now, account, new, refused, answer, stored=refused.stored and running)

    kind = kind_of(challenge.type)
    verdict = kind.judge(_trial(conn, account, challenge, flags, answer))
    if challenge.solved:
        return _already_solved(verdict)
    stored = running or new.is_admin
    if verdict.status == "correct":
        if stored and not store_solve(conn, now, account, new, challenge, kind, answer):
            return _already_solved(verdict)
        return Outcome("correct", verdict.message)
    if stored:
        store(conn, now, account, new, answer, verdict.status)
    if verdict.status == "partial":
        return Outcome("partial", verdict.message)
    return Outcome("incorrect", with_tries(verdict.message, limits, now, max_attempts, here))


def preview(conn: Connection, challenge_id: int, submission: str) -> Outcome:
    """What the flags say to *submission*, for an administrator who tries them out. Raises ``NotFound``."""
    challenge, flags = _with_flags(sql.CHALLENGE.all(conn, {"challenge": challenge_id}))
    trial = Trial(submission.strip(), flags, challenge.logic)
    verdict = kind_of(challenge.type).judge(trial)
    return Outcome(verdict.status, verdict.message)


def kind_of(name: str | None) -> IChallengeType:
    """The kind of challenge called *name*; raises ``Impossible`` where no plug-in brings it."""
    kind = challenge_types().get(name or "standard")
    if kind is None:
        raise Impossible({"": [not_installed(name)]})
    return kind


def not_installed(name: str | None) -> str:
    """CTFd's words for a challenge whose kind is missing."""
    return f"The underlying challenge type ({name}) is not installed. This challenge can not be loaded."


def _demand_viewing(competition: Competition, now: datetime) -> None:
    if not competition.ended(now):
        raise Forbidden(f"{competition.name} has not started yet")
    if not competition.view_after:
        raise Forbidden(f"{competition.name} has ended")


def _demand_open(conn: Connection, now: datetime, account: Account, challenge: Any) -> None:
    reached = reach_of(conn, now, account, challenge)
    if reached is not Reach.OPEN:
        raise _CLOSED[reached]
    if has_ended(challenge.ends_at, now):
        raise Forbidden(f"{challenge.name} has ended")


def _limits(competition: Competition) -> Limits:
    return Limits(
        competition.integer("incorrect_submissions_per_min", DEFAULT_PER_MINUTE),
        "timeout" if competition.text("max_attempts_behavior") == "timeout" else "lockout",
        competition.integer("max_attempts_timeout", DEFAULT_TIMEOUT),
    )


def _tried(
    conn: Connection, now: datetime, account: Account, challenge_id: int, limits: Limits
) -> tuple[Any, tuple[Flag, ...]]:
    """The challenge, with what the account has tried and solved, and its flags."""
    facts = {
        "account": account.id,
        "user": account.user_id,
        "challenge": challenge_id,
        "minute": now - timedelta(seconds=WINDOW),
        "since": limits.counted_since(now) or sql.LONG_AGO,
    }
    return _with_flags(sql.TRIED[account.team_id is not None].all(conn, facts))


def _with_flags(rows: list[Any]) -> tuple[Any, tuple[Flag, ...]]:
    if not rows:
        raise NotFound
    flags = tuple(
        Flag(row.flag_id, row.flag_type, row.flag_content, row.flag_data) for row in rows if row.flag_id is not None
    )
    return rows[0], flags


def _trial(conn: Connection, account: Account, challenge: Any, flags: tuple[Flag, ...], answer: str) -> Trial:
    logic = challenge.logic
    if logic not in {"all", "team"}:
        return Trial(answer, flags, logic, user_id=account.user_id)
    teams_mode = account.team_id is not None
    rows = sql.PARTIALS[teams_mode].all(conn, {"account": account.id, "challenge": challenge.id})
    partials = tuple(Partial(row.user_id, row.provided or "") for row in rows)
    members = None
    if teams_mode and logic == "team":
        members = frozenset(row.id for row in sql.MEMBERS.all(conn, {"team": account.team_id}))
    return Trial(answer, flags, logic, partials, account.user_id, members)


def _already_solved(verdict: Verdict) -> Outcome:
    return Outcome("already_solved", f"{verdict.message} but you already solved this")


def _refuse(
    conn: Connection,
    now: datetime,
    account: Account,
    new: NewAttempt,
    refused: Refusal,
    answer: str,
    *,
    stored: bool,
) -> Outcome:
    if stored:
        store(conn, now, account, new, answer, "ratelimited")
    return Outcome("ratelimited", refused.message, refused.http_status, refused.retry_after)
