"""What the REST API shows of one challenge that somebody may read: its columns, its kind, its kind's settings. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from ctfd_twisted.http.dates import naive
from ctfd_twisted.interfaces import IChallengeType
from ctfd_twisted.koth.settings_shown import HillSettingsShown
from ctfd_twisted.shapes import with_more


class ChallengeKind(TypedDict):
    """A kind of challenge; its templates and scripts are paths below the site's root."""

    id: str
    name: str
    templates: dict[str, str]
    scripts: dict[str, str]


@with_more
class ChallengeShown(HillSettingsShown):
    """A challenge as it is stored; its kind may add settings of its own, as hills do.

    Times are in UTC, without saying so. Of a value that does not follow the solves, ``initial``, ``minimum`` and
    ``decay`` are null.
    """

    id: int
    name: str | None
    value: int | None
    description: str | None
    attribution: str | None
    connection_info: str | None
    next_id: int | None
    category: str | None
    state: str
    max_attempts: int | None
    position: int
    logic: str
    initial: int | None
    decay: int | None
    minimum: int | None
    function: str
    scheduled_at: str | None
    ends_at: str | None
    type: str
    type_data: ChallengeKind


def kind_readout(kind: IChallengeType) -> ChallengeKind:
    """A kind as every endpoint shows it."""
    return {"id": kind.id, "name": kind.name, "templates": dict(kind.templates), "scripts": dict(kind.scripts)}


def readout(row: Mapping[str, Any], kind: IChallengeType, settings: Mapping[str, Any]) -> ChallengeShown:
    """What is shown of the columns in *row*, of *kind* and of those of its *settings* that are given."""
    shown: ChallengeShown = {
        "id": row["id"],
        "name": row["name"],
        "value": row["value"],
        "description": row["description"],
        "attribution": row["attribution"],
        "connection_info": row["connection_info"],
        "next_id": row["next_id"],
        "category": row["category"],
        "state": row["state"],
        "max_attempts": row["max_attempts"],
        "position": row["position"],
        "logic": row["logic"],
        "initial": None,
        "decay": None,
        "minimum": None,
        "function": kind.default_function,
        "scheduled_at": naive(row["scheduled_at"]),
        "ends_at": naive(row["ends_at"]),
        "type": kind.id,
        "type_data": kind_readout(kind),
    }
    # Some of the settings are among the keys above, the others are those that the type leaves open.
    return cast("ChallengeShown", {**shown, **settings})
