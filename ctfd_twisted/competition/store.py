"""Transactions over the competition's settings and secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, func, select, update
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.competition.rules import Competition, write_value
from ctfd_twisted.competition.tables import config, secrets
from ctfd_twisted.db.notices import touch
from ctfd_twisted.errors import Invalid

#: The longest text of one setting.
LONGEST = 65_535

_ALL = select(config.c.key, config.c.value).order_by(config.c.id.desc())


def read_competition(conn: Connection) -> Competition:
    """All settings; where a key has several rows the oldest counts, as in CTFd."""
    return Competition({row.key: row.value for row in conn.execute(_ALL) if row.key is not None})


def write_config(conn: Connection, values: Mapping[str, object]) -> None:
    """Store *values* by key, making rows where there are none.

    Booleans and numbers are stored as CTFd stores them. Raises ``Invalid`` for a text over :data:`LONGEST` characters,
    and then nothing of *values* is stored.
    """
    texts = {key: write_value(value, dialect=conn.dialect.name) for key, value in values.items()}
    for key, text in texts.items():
        if text is not None and len(text) > LONGEST:
            raise Invalid(value=[f"{key} config is too long"])
    for key, text in texts.items():
        first = select(func.min(config.c.id)).where(config.c.key == key).scalar_subquery()
        if not conn.execute(update(config).where(config.c.id == first).values(value=text)).rowcount:
            conn.execute(config.insert().values(key=key, value=text))
    if texts:
        touch(conn, "config", "challenges", "standings")


def read_secret(conn: Connection, name: str) -> str | None:
    """The secret called *name*, or None."""
    value = conn.execute(select(secrets.c.value).where(secrets.c.name == name)).scalar()
    return None if value is None else str(value)


def ensure_secret(conn: Connection, name: str, make: Callable[[], str]) -> str:
    """The secret called *name*, made by *make* where there is none yet; nodes that start together agree on one."""
    value = read_secret(conn, name)
    if value is not None:
        return value
    made = make()
    try:
        with conn.begin_nested():
            conn.execute(secrets.insert().values(name=name, value=made))
    except IntegrityError:
        found = read_secret(conn, name)
        assert found is not None  # noqa: S101 - the row that was in the way
        return found
    return made
