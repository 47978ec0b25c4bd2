"""Attempts at challenges, from the checks to the stored solves, in one transaction for all that arrive at once.

Everything that decides is read here, under the lock of the accounts' rows: the competition's times and pause, the
challenge, its flags, how often the account was wrong and whether it has solved it. So of any number of answers that
arrive at once each sees what those before it have stored, on every node: the same right answer is one solve and
"already solved" otherwise, and no limit is exceeded.

It is the transaction that runs most often, so its statements are built once, are few, read only what is needed, and are
each sent for all of the attempts before the next is. Nobody waits here for an account that another transaction holds:
that one is done alone. Afterwards locks are taken in the order that all others take them in: challenges by their ids,
then the log of events.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

import msgspec
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ctfd_twisted.challenges import attempt_sql as sql
from ctfd_twisted.challenges.asking import Account, free_accounts, locked_account, reach_of
from ctfd_twisted.challenges.judging import Flag, Partial, Trial, Verdict
from ctfd_twisted.challenges.limits import (
    DEFAULT_PER_MINUTE,
    DEFAULT_TIMEOUT,
    WINDOW,
    Limits,
    Wrong,
    refusal,
    with_tries,
)
from ctfd_twisted.challenges.recording import Entry, NewAttempt, Solve, follow, record, record_solves
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.rules import Reach, has_ended
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.together import ALONE, Alone
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


class _Try:
    """One of several attempts, and what has come of it so far."""

    __slots__ = ("account", "new", "outcome")

    def __init__(self, new: NewAttempt) -> None:
        self.new = new
        self.account: Account | None = None
        self.outcome: Outcome | Exception | Alone | None = None

    @property
    def answer(self) -> str:
        """What was sent, without blanks around it."""
        return self.new.submission.strip()


class _Judged(msgspec.Struct, frozen=True):
    """What an attempt comes to: what is told, as which type it is stored (``None``: not at all), and what is solved."""

    outcome: Outcome
    stored: str | None
    challenge: Any
    verdict: Verdict | None = None


def attempts(conn: Connection, asked: Sequence[NewAttempt], *, alone: bool) -> list[Outcome | Exception | Alone]:
    """Judge answers and store what comes of them: the outcome of each, as ``WriteMany`` has it.

    Those of one account see what those before them have stored. Errors are ``Forbidden`` outside the event and where
    the account may not answer this challenge, ``NotFound`` for a challenge that is not there for it.
    """
    competition = Competition(dict(sql.SETTINGS.all(conn)))
    tries = [_Try(new) for new in asked]
    for one in tries:
        one.outcome = _stopped(competition, one.new)
    _identify(conn, competition, [one for one in tries if one.outcome is None], alone=alone)
    waiting = [(one, one.account) for one in tries if one.account is not None]
    solves: list[Solve] = []
    while waiting:
        turn: dict[int, tuple[_Try, Account]] = {}
        for one, account in waiting:
            turn.setdefault(account.id, (one, account))
        waiting = [(one, account) for one, account in waiting if turn[account.id][0] is not one]
        solves += _taken(conn, competition, list(turn.values()))
    follow(conn, solves)
    return [cast("Outcome | Exception | Alone", one.outcome) for one in tries]


def _stopped(competition: Competition, new: NewAttempt) -> Outcome | Forbidden | None:
    """What somebody is told while nobody may answer."""
    if not (competition.running(new.at) or new.is_admin):
        if not competition.ended(new.at):
            return Forbidden(f"{competition.name} has not started yet")
        if not competition.view_after:
            return Forbidden(f"{competition.name} has ended")
    return Outcome("paused", f"{competition.name} is paused", 403) if competition.paused else None


def _identify(conn: Connection, competition: Competition, tries: Sequence[_Try], *, alone: bool) -> None:
    """Find and lock their accounts."""
    if alone:
        for one in tries:
            try:
                one.account = locked_account(conn, competition, one.new.user_id)
            except Forbidden as error:
                one.outcome = error
        return
    accounts = free_accounts(conn, competition, list(dict.fromkeys(one.new.user_id for one in tries)))
    for one in tries:
        one.account = accounts.get(one.new.user_id)
        if one.account is None:
            one.outcome = ALONE


def _taken(conn: Connection, competition: Competition, turn: Sequence[tuple[_Try, Account]]) -> list[Solve]:
    """Judge and store one attempt each of different accounts; the solves among them."""
    limits = _limits(competition)
    teams_mode = turn[0][1].team_id is not None
    found = sql.TRIED[teams_mode].each(conn, [_facts(one.new, account, limits) for one, account in turn])
    others: list[Entry] = []
    right: list[tuple[_Try, _Judged, Entry]] = []
    for (one, account), rows in zip(turn, found, strict=True):
        try:
            judged = _judged(conn, competition, limits, one, account, rows)
        except DBAPIError:
            raise
        except Exception as error:  # noqa: BLE001 - a kind's own mistake, or ours, is told to this one alone
            one.outcome = error
            continue
        one.outcome = judged.outcome
        if judged.stored is not None:
            entry = Entry(one.new, account, one.answer, judged.stored)
            if judged.stored == "correct":
                right.append((one, judged, entry))
            else:
                others.append(entry)
    record(conn, others)
    solves = record_solves(conn, [(entry, judged.challenge) for _, judged, entry in right])
    for (one, judged, _), solve in zip(right, solves, strict=True):
        if solve is None and judged.verdict is not None:
            one.outcome = _already_solved(judged.verdict)
    return [solve for solve in solves if solve is not None]


def _judged(
    conn: Connection, competition: Competition, limits: Limits, one: _Try, account: Account, rows: list[Any]
) -> _Judged:
    """What an attempt comes to. *rows* hold the challenge, with what the account has tried and solved, and its flags.

    Raises ``Forbidden`` and ``NotFound``.
    """
    now = one.new.at
    running = competition.running(now)
    challenge, flags = _with_flags(rows)
    _demand_open(conn, now, account, challenge)
    max_attempts = challenge.max_attempts or 0
    here = Wrong(challenge.here_count or 0, challenge.here_oldest)
    everywhere = Wrong(challenge.everywhere_count, challenge.everywhere_oldest)
    refused = refusal(limits, now, max_attempts, here, everywhere)
    if refused is not None:
        told = Outcome("ratelimited", refused.message, refused.http_status, refused.retry_after)
        return _Judged(told, "ratelimited" if refused.stored and running else None, challenge)

    verdict = kind_of(challenge.type).judge(_trial(conn, account, challenge, flags, one.answer))
    if challenge.solved:
        return _Judged(_already_solved(verdict), None, challenge)
    stored = verdict.status if running or one.new.is_admin else None
    message = verdict.message
    if verdict.status == "incorrect":
        message = with_tries(message, limits, now, max_attempts, here)
    return _Judged(Outcome(verdict.status, message), stored, challenge, verdict)


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


def _facts(new: NewAttempt, account: Account, limits: Limits) -> dict[str, Any]:
    """What ``TRIED`` is asked with."""
    return {
        "account": account.id,
        "user": account.user_id,
        "challenge": new.challenge_id,
        "minute": new.at - timedelta(seconds=WINDOW),
        "since": limits.counted_since(new.at) or sql.LONG_AGO,
    }


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
