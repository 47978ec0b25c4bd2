"""Builders of hills and of what their agents said."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from ctfd_twisted.koth.protocol import Evidence, Failure
from ctfd_twisted.koth.settings import HillSettings, read_settings
from ctfd_twisted.koth.store import write_settings
from ctfd_twisted.testing.builders import LONG_AGO, a_challenge

LEAST: dict[str, object] = {"url": "http://hill.example:31337/status", "interval": 60, "reward": 10}


def hill_settings(**changes: object) -> HillSettings:
    """Settings of a hill that is asked each minute and pays 10 points."""
    return read_settings({**LEAST, **changes})


def a_hill(conn: Connection, **changes: Any) -> int:
    """A visible hill that was never polled; its challenge's id. Changes may name columns of the challenge, too."""
    settings = {name: changes.pop(name) for name in list(changes) if name in HillSettings.__struct_fields__}
    challenge_id = a_challenge(conn, **{"type": "koth", "category": "koth", **changes})
    write_settings(conn, LONG_AGO, challenge_id, hill_settings(**settings))
    return challenge_id


def evidence(started: datetime, *owners: str, failure: Failure | None = None, **facts: Any) -> Evidence:
    """What a poll has learnt: an owner, two of them, or a failure."""
    plain = Evidence(started, latency_ms=12, status=None if failure else 200, owners=owners, failure=failure)
    return msgspec.structs.replace(plain, **facts)
