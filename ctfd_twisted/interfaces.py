"""What a plug-in may bring: kinds of challenges and kinds of flags.

A plug-in is an ordinary Twisted plug-in: a module under ``ctfd_twisted/plugins/`` of any folder on the path (without an
``__init__.py`` there) whose module-level names provide ``twisted.plugin.IPlugin`` and one of these interfaces. The
built-in kinds are registered in the same way, and ``tests/contract/test_challenge_types.py`` holds every kind that is
found to what is written here.

Methods that take a ``conn`` run inside the transaction of their caller, in a database thread: they neither commit nor
wait, read no clock, and may be run again from the start. The others are pure: no clock, no database, no log.
"""

# ruff: noqa: N805 - the methods of an interface have no self

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection
from zope.interface import Attribute, Interface

from ctfd_twisted.challenges.judging import Trial, Verdict

if TYPE_CHECKING:
    from ctfd_twisted.accounts.identity import Player
    from ctfd_twisted.challenges.forms import FormField
    from ctfd_twisted.competition.rules import Competition

__all__ = ("IChallengeType", "IFlagType")


class IChallengeType(Interface):
    """A kind of challenge: which settings it has, what it is worth, and which answers solve it."""

    id: str = Attribute("What the column challenges.type holds, such as 'standard'; unique among all kinds.")
    name: str = Attribute("For people.")
    templates: Mapping[str, str] = Attribute("Paths below the site's root for 'create', 'update' and 'view'.")
    scripts: Mapping[str, str] = Attribute("Likewise for 'create', 'update' and 'view'.")
    form_fields: Sequence[FormField] = Attribute(
        "The kind's own settings, in the order of the form; the fields that every challenge has are not among them."
    )
    default_function: str = Attribute("The value function of a new challenge that names none, such as 'static'.")
    adds_detail: bool = Attribute(
        "Whether player_detail ever returns anything. Where not, details are answered from memory without asking it."
    )

    def create(conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> None:
        """Store the kind's own settings of a challenge whose row was inserted in this transaction.

        *fields* is the request's whole JSON object, as it was sent: keys that are not the kind's own are left alone.
        Raises ``ctfd_twisted.errors.Invalid`` with a message for every wrong field, before it stores anything. It may
        also set ``challenges.value``; where ``value_after`` gives a number, that is stored afterwards in any case.
        """

    def update(conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> None:
        """Change those of the kind's settings that *fields* names and keep the others; otherwise as ``create``.

        A challenge that was of another type before may have no settings of this kind yet.
        """

    def settings(conn: Connection, challenge_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """``{challenge_id: {field: value}}``: the kind's settings as administrators read them, JSON values only.

        A challenge without stored settings of this kind is absent, not an error. What players may see of them is told
        by ``player_detail`` alone.
        """

    def value_after(settings: Mapping[str, Any], solves: int) -> int | None:
        """The points after *solves* counted solves, or ``None`` where the stored value does not follow the solves.

        Pure. *settings* is one of the values that ``settings`` returned. A solve counts when its account is neither
        hidden nor banned. Never raises on settings that were stored, for any number of solves from 0 on.
        """

    def judge(trial: Trial) -> Verdict:
        """What one answer is worth. Pure: flags, logic and the account's earlier partial answers are in *trial*."""

    def player_detail(
        conn: Connection, now: datetime, competition: Competition, player: Player | None, challenge_id: int
    ) -> dict[str, Any]:
        """Further keys for the challenge's detail, as the one who asks may see them; often ``{}``.

        *player* is ``None`` for somebody who is not signed in. The keys must not be those of the common detail.
        """


class IFlagType(Interface):
    """A kind of flag: how an answer is compared with what an administrator wrote."""

    id: str = Attribute("What the column flags.type holds, such as 'static'; unique among all kinds.")
    name: str = Attribute("For people, and for GET /api/v1/flags/types.")
    templates: Mapping[str, str] = Attribute("Paths below the site's root for 'create' and 'update'.")

    def clean(content: str | None) -> str | None:
        """The content as it is stored. Pure; raises a ``DomainError`` where a flag can't have this content."""

    def matches(content: str | None, data: str | None, submission: str) -> bool:
        """Whether the trimmed answer *submission* is right, *content* and *data* being as stored.

        Pure, and bounded in time whatever the player sends. Raises ``ctfd_twisted.challenges.judging.UnusableFlag``
        with a message for the player where the flag itself is broken.
        """
