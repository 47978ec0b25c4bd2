"""The competition's settings as administrators list, change and remove them: texts, as they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import msgspec
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection, Row, delete, select, update

from ctfd_twisted.competition.store import write_config
from ctfd_twisted.competition.tables import config
from ctfd_twisted.db.columns import matching
from ctfd_twisted.db.notices import touch
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.http.bodies import REQUIRED
from ctfd_twisted.scoring.values import recompute_values


class ConfigFields(msgspec.Struct, frozen=True):
    """What POST takes; ``value`` is text, a number, a boolean or null."""

    key: str
    value: Any


class ConfigChange(msgspec.Struct, frozen=True):
    """What PATCH of one setting takes; ``key`` renames it."""

    key: str | UnsetType = UNSET
    value: Any = UNSET


class ConfigFilter(msgspec.Struct, frozen=True):
    """Which settings are asked for."""

    key: str | UnsetType = UNSET
    value: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["key", "value"] | UnsetType = UNSET


class ConfigShown(TypedDict):
    """A setting as it is stored: text, or null."""

    id: int
    key: str | None
    value: str | None


def list_configs(conn: Connection, wanted: ConfigFilter) -> list[ConfigShown]:
    """All rows that *wanted* describes, by id; databases of CTFd may hold a key twice."""
    rows = conn.execute(matching(select(config), config, wanted).order_by(config.c.id))
    return [_shown(row) for row in rows]


def read_config(conn: Connection, key: str) -> ConfigShown:
    """The row of *key* that counts. Raises ``NotFound``, also for what only has a default."""
    row = conn.execute(select(config).where(config.c.key == key).order_by(config.c.id)).first()
    if row is None:
        raise NotFound
    return _shown(row)


def set_config(conn: Connection, fields: ConfigFields) -> ConfigShown:
    """Set one setting and return its row; raises ``Invalid``.

    CTFd would add a second row where there is one, which has no effect.
    """
    set_configs(conn, {fields.key: fields.value})
    return read_config(conn, fields.key)


def set_configs(conn: Connection, values: Mapping[str, object]) -> None:
    """Set all of *values*; raises ``Invalid`` for the first that can't be stored, and then none is."""
    for key, value in values.items():
        if value is not None and not isinstance(value, str | int | float):
            raise Invalid(value=[f"{key} config is no text, number or boolean"])
    write_config(conn, values)
    _tell(conn, *values)


def change_config(conn: Connection, key: str, change: ConfigChange) -> ConfigShown:
    """Change or rename one setting, or set it where it has no row, and return its row.

    Raises ``Invalid``, also for a new name that is taken.
    """
    stored = conn.execute(select(config.c.id).where(config.c.key == key)).first()
    if stored is None and change.value is UNSET:
        raise Invalid(value=[REQUIRED])
    if stored is not None and change.key is not UNSET and change.key != key:
        _rename(conn, key, change.key)
        key = change.key
    if change.value is not UNSET:
        set_configs(conn, {key: change.value})
    return read_config(conn, key)


def delete_config(conn: Connection, key: str) -> None:
    """Remove a setting with every row it has, so that its default applies. Raises ``NotFound``."""
    if not conn.execute(delete(config).where(config.c.key == key)).rowcount:
        raise NotFound
    _tell(conn, key)


def _shown(row: Row[Any]) -> ConfigShown:
    return {"id": row.id, "key": row.key, "value": row.value}


def _rename(conn: Connection, key: str, new: str) -> None:
    if conn.execute(select(config.c.id).where(config.c.key == new)).first() is not None:
        raise Invalid(key=[f"{new} config exists already"])
    conn.execute(update(config).where(config.c.key == key).values(key=new))
    _tell(conn, key, new)


def _tell(conn: Connection, *keys: str) -> None:
    if not keys:
        return
    touch(conn, "config", "challenges", "standings")
    if "user_mode" in keys:
        # Solves are counted by other accounts now, and values follow them.
        recompute_values(conn)
