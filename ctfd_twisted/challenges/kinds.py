"""The two built-in kinds of challenges: those worth what they were set to, and those whose value follows the solves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, select, update
from zope.interface import implementer

from ctfd_twisted.challenges import flags
from ctfd_twisted.challenges.forms import FormField
from ctfd_twisted.challenges.judging import Trial, Verdict
from ctfd_twisted.challenges.registry import flag_types
from ctfd_twisted.challenges.tables import challenges, dynamic_challenge
from ctfd_twisted.db.among import among
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.errors import Impossible
from ctfd_twisted.http.bodies import read_struct
from ctfd_twisted.interfaces import IChallengeType
from ctfd_twisted.scoring.rules import DECAYING, linear, logarithmic

if TYPE_CHECKING:
    from ctfd_twisted.accounts.identity import Player
    from ctfd_twisted.competition.rules import Competition

_NUMBERS: Final = ("initial", "minimum", "decay")

_DECAY_FIELDS: Final = (
    FormField("initial", "Initial value", "integer", help="points of the first solver"),
    FormField("minimum", "Minimum value", "integer", help="points that are left when everybody has solved it"),
    FormField("decay", "Decay", "integer", help="linear: points off per solve; logarithmic: solves to the minimum"),
)


# Right answers ask for them, so they are ready.
_STANDARD: Final = Ready(
    select(
        challenges.c.id, challenges.c.function, challenges.c.initial, challenges.c.minimum, challenges.c.decay
    ).where(among(challenges.c.id, "challenges"))
)
_DYNAMIC: Final = Ready(select(dynamic_challenge).where(among(dynamic_challenge.c.id, "challenges")))


class Decay(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a body that says how a value follows the solves."""

    function: str | UnsetType | None = UNSET
    initial: int | UnsetType | None = UNSET
    minimum: int | UnsetType | None = UNSET
    decay: int | UnsetType | None = UNSET

    def given(self) -> dict[str, Any]:
        """What the body names, ``None`` included."""
        return {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}


def _without_zero_decay(stored: dict[str, Any]) -> dict[str, Any]:
    # The parabola divides by the decay, so that 0 means 1, and reads as 1 from then on.
    return {**stored, "decay": 1} if stored["decay"] == 0 and stored["function"] != "linear" else stored


class _FlagChallenge:
    """What both kinds share: flags decide, and players are shown nothing beside the common detail."""

    adds_detail = False

    def judge(self, trial: Trial) -> Verdict:
        """The verdict of the flags."""
        return flags.judge(flag_types(), trial)

    def player_detail(
        self,
        conn: Connection,
        now: datetime,
        competition: Competition,
        player: Player | None,
        challenge_id: int,
    ) -> dict[str, Any]:
        """Nothing."""
        del conn, now, competition, player, challenge_id
        return {}


def _assets(folder: str, suffix: str) -> dict[str, str]:
    return {page: f"/plugins/{folder}/assets/{page}.{suffix}" for page in ("create", "update", "view")}


@implementer(IChallengeType)
class StandardChallenge(_FlagChallenge):
    """Worth its ``value``, unless its function says that the value follows the solves; settings in ``challenges``."""

    id = "standard"
    name = "standard"
    templates: ClassVar[Mapping[str, str]] = _assets("challenges", "html")
    scripts: ClassVar[Mapping[str, str]] = _assets("challenges", "js")
    default_function = "static"
    form_fields = (
        FormField("value", "Value", "integer", help="points"),
        FormField("function", "Function", "choice", default="static", choices=("static", "linear", "logarithmic")),
        *_DECAY_FIELDS,
    )

    def create(self, conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> None:
        """Store function and decay; raises ``Impossible`` where a decaying function lacks a number."""
        del now
        wanted = {"function": None, **dict.fromkeys(_NUMBERS), **read_struct(fields, Decay).given()}
        wanted["function"] = wanted["function"] or self.default_function
        if wanted["function"] in DECAYING and wanted["initial"] is None:
            worth = select(challenges.c.value).where(challenges.c.id == challenge_id)
            wanted["initial"] = conn.execute(worth).scalar()
        self._store(conn, challenge_id, wanted)

    def update(self, conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> None:
        """Change what is given; raises ``Impossible`` where a decaying function would lack a number."""
        del now
        given = read_struct(fields, Decay).given()
        if given:
            columns = challenges.c
            stored = conn.execute(
                select(columns.function, columns.initial, columns.minimum, columns.decay).where(
                    columns.id == challenge_id
                )
            ).one()
            self._store(conn, challenge_id, {**stored._asdict(), **given})

    def _store(self, conn: Connection, challenge_id: int, wanted: dict[str, Any]) -> None:
        if wanted["function"] in DECAYING:
            _demand(wanted)
            wanted = _without_zero_decay(wanted)
        conn.execute(update(challenges).where(challenges.c.id == challenge_id).values(**wanted))

    def settings(self, conn: Connection, challenge_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Function and decay; of a value that stands still the numbers mean nothing and read as null."""
        rows = _STANDARD.all(conn, {"challenges": challenge_ids})
        return {
            row.id: {
                "function": row.function or self.default_function,
                **{name: getattr(row, name) if row.function in DECAYING else None for name in _NUMBERS},
            }
            for row in rows
        }

    def value_after(self, settings: Mapping[str, Any], solves: int) -> int | None:
        """By the function; ``None`` for ``static`` and every unknown one, and where old data lacks a number."""
        function = settings["function"]
        return None if function not in DECAYING else _decayed(settings, solves)


@implementer(IChallengeType)
class DynamicChallenge(_FlagChallenge):
    """Always decays, by a parabola unless its function is ``linear``; settings in ``dynamic_challenge``."""

    id = "dynamic"
    name = "dynamic"
    templates: ClassVar[Mapping[str, str]] = _assets("dynamic_challenges", "html")
    scripts: ClassVar[Mapping[str, str]] = _assets("dynamic_challenges", "js")
    default_function = "logarithmic"
    form_fields = (
        FormField("function", "Function", "choice", default="logarithmic", choices=("linear", "logarithmic")),
        FormField("initial", "Initial value", "integer", required=True, help="points of the first solver"),
        *_DECAY_FIELDS[1:],
    )

    def create(self, conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> None:
        """Store function and decay; raises ``Impossible`` without ``initial`` or what a named function needs."""
        del now
        given = {name: value for name, value in read_struct(fields, Decay).given().items() if value is not None}
        if "initial" not in given:
            raise Impossible({"": ["Missing initial value for challenge"]})
        if given.get("function") in DECAYING:
            _demand(given)
        wanted = {"function": self.default_function, "minimum": 0, "decay": 0, **given}
        conn.execute(dynamic_challenge.insert().values(id=challenge_id, **_columns(_without_zero_decay(wanted))))

    def update(self, conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> None:
        """Change what is given; raises ``Impossible`` for a number that is null."""
        given = read_struct(fields, Decay).given()
        for name in _NUMBERS:
            if name in given and given[name] is None:
                raise Impossible({"": [f"Invalid input for '{name}'"]})
        stored = self.settings(conn, (challenge_id,)).get(challenge_id)
        if stored is None:
            # The challenge was of another type until now. Without an initial value it stays worth what it was.
            if "initial" in given:
                self.create(conn, now, challenge_id, fields)
            return
        wanted = _without_zero_decay({**stored, **given})
        conn.execute(update(dynamic_challenge).where(dynamic_challenge.c.id == challenge_id).values(**_columns(wanted)))

    def settings(self, conn: Connection, challenge_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Function and decay."""
        rows = _DYNAMIC.all(conn, {"challenges": challenge_ids})
        return {
            row.id: {
                "function": row.dynamic_function or self.default_function,
                **{name: getattr(row, f"dynamic_{name}") for name in _NUMBERS},
            }
            for row in rows
        }

    def value_after(self, settings: Mapping[str, Any], solves: int) -> int | None:
        """By the function, of which every unknown one is the parabola; ``None`` where old data lacks a number."""
        return _decayed(settings, solves)


def _columns(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {f"dynamic_{name}": value for name, value in settings.items()}


def _demand(settings: Mapping[str, Any]) -> None:
    for name in _NUMBERS:
        if settings.get(name) is None:
            raise Impossible({"": [f"Missing '{name}' but function is {settings['function']}"]})


def _decayed(settings: Mapping[str, Any], solves: int) -> int | None:
    initial, minimum, decay = (settings[name] for name in _NUMBERS)
    if initial is None or minimum is None or decay is None:
        return None
    return (linear if settings["function"] == "linear" else logarithmic)(initial, minimum, decay, solves)
