"""What a tick is worth and who is king. Pure.

Three kinds of outcomes decide what becomes of a reign (docs/koth.md#reigns):

* ``held`` and ``unconfirmed`` found a king, and go on with a reign or begin one;
* ``unclaimed``, ``unknown``, ``ineligible`` and ``contested`` saw that nobody holds the hill, and end it;
* all others learnt nothing, and leave it as it is: a lost packet or a restart of the platform dethrones nobody.

A reset that succeeds ends the reign too, but not the ticks that pass during it: it may yet fail.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

import msgspec

from ctfd_twisted.koth.protocol import Evidence
from ctfd_twisted.koth.settings import HillSettings

Outcome = Literal[
    "held",
    "unclaimed",
    "unknown",
    "ineligible",
    "unauthorized",
    "unreachable",
    "tls_error",
    "malformed",
    "unhealthy",
    "contested",
    "unconfirmed",
    "resetting",
    "overrun",
    "missed",
    "void",
]

FOUND: Final[frozenset[Outcome]] = frozenset({"held", "unconfirmed"})
#: The agent did not do its part; so many of them in a row are told to the administrators.
FAILED: Final[frozenset[Outcome]] = frozenset({"unauthorized", "unreachable", "tls_error", "malformed"})
FAILURES_TO_TELL: Final = 20
#: A tick at which the agent was not asked.
Unasked = Literal["resetting", "overrun", "missed"]
_UNASKED: Final[frozenset[Outcome]] = frozenset({"resetting", "overrun", "missed"})
_DOWN: Final = FAILED | {"unhealthy", "overrun"}
#: A hold bonus is given for each so many ticks of a reign.
BONUS_TICKS: Final = 10


class Account(msgspec.Struct, frozen=True):
    """Whom an identifier stands for: the user it named, if it did, and the team that scores where teams play.

    ``problem`` says why the account can't be king, and is empty where it can.
    """

    user_id: int | None
    team_id: int | None
    problem: str = ""


class Reign(msgspec.Struct, frozen=True):
    """The present reign: whose, since which tick and when, and how many ticks have found the king."""

    user_id: int | None = None
    team_id: int | None = None
    number: int | None = None
    since: datetime | None = None
    ticks: int = 0

    def is_of(self, account: Account, *, teams: bool) -> bool:
        """Whether *account* is the king; where teams play, whoever of the team."""
        if self.number is None:
            return False
        return self.team_id == account.team_id if teams else self.user_id == account.user_id


class Verdict(msgspec.Struct, frozen=True):
    """What becomes of one tick: its outcome, the points it gives, and the reign after it."""

    outcome: Outcome
    reign: Reign
    points: int = 0
    account: Account | None = None
    detail: str = ""


NO_REIGN: Final = Reign()


def decide(
    evidence: Evidence,
    accounts: tuple[Account | None, ...],
    reign: Reign,
    settings: HillSettings,
    *,
    tick: int,
    due: datetime,
    teams: bool,
) -> Verdict:
    """What *evidence* makes of *tick*, *reign* being the one before it.

    *accounts* are those that ``evidence.owners`` stand for, one for each, None where nobody.
    """
    if evidence.failure is not None:
        return Verdict(evidence.failure, reign, detail=evidence.detail)
    owner, account = evidence.owners[0], accounts[0]
    if not _agree(evidence.owners, accounts, teams=teams):
        named = " and ".join(repr(text[:80]) for text in evidence.owners)
        return Verdict("contested", NO_REIGN, account=account, detail=f"two owners within one tick: {named}")
    if not owner:
        return Verdict("unclaimed", NO_REIGN, detail=evidence.detail)
    if account is None:
        return Verdict("unknown", NO_REIGN, detail="no account goes by this identifier")
    if account.problem:
        return Verdict("ineligible", NO_REIGN, account=account, detail=account.problem)
    after = _extended(reign, account, tick=tick, due=due, teams=teams)
    if after.ticks < settings.confirm_ticks:
        detail = f"tick {after.ticks} of the {settings.confirm_ticks} that a new king needs"
        return Verdict("unconfirmed", after, account=account, detail=detail)
    bonus = settings.hold_bonus if after.ticks % BONUS_TICKS == 0 else 0
    detail = f"with a bonus of {bonus} for {after.ticks} ticks held" if bonus else ""
    return Verdict("held", after, settings.reward + bonus, account, detail)


def failures_after(failures: int, outcome: Outcome) -> int:
    """How many polls in a row have failed after one more tick."""
    if outcome in FAILED:
        return failures + 1
    return failures if outcome in _UNASKED else 0


def up_or_down(outcome: str | None) -> str | None:
    """What players see of a hill's last outcome; None before the first tick."""
    if outcome is None:
        return None
    return "down" if outcome in _DOWN else "up"


def _agree(owners: tuple[str, ...], accounts: tuple[Account | None, ...], *, teams: bool) -> bool:
    """Whether every reading named the same owner, be it in two ways: by a token first and by a name then."""
    if len(set(owners)) == 1:
        return True
    keys = {None if account is None else account.team_id if teams else account.user_id for account in accounts}
    return len(keys) == 1 and None not in keys


def _extended(reign: Reign, account: Account, *, tick: int, due: datetime, teams: bool) -> Reign:
    if reign.is_of(account, teams=teams):
        return Reign(account.user_id, account.team_id, reign.number, reign.since, reign.ticks + 1)
    return Reign(account.user_id, account.team_id, tick, due, 1)
