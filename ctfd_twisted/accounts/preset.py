"""The administrator whom the deployment presets (``PRESET_ADMIN_*``), made at first use."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, or_, select

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.locks import serialise
from ctfd_twisted.accounts.newcomers import insert_user, tell_user_created
from ctfd_twisted.accounts.players import load_player
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.errors import Invalid
from ctfd_twisted.settings import PresetAdmin

NOT_CREATED: Final = "Preset admin user could not be created. Please contact an administrator"


def find_preset_admin(conn: Connection, preset: PresetAdmin) -> int | None:
    """Return the id of the preset administrator, ``None`` before the first use."""
    known = or_(users.c.email == preset.email, users.c.name == preset.name)
    found = conn.execute(select(users.c.id).where(known, users.c.type == "admin").order_by(users.c.id)).first()
    return None if found is None else int(found.id)


def load_preset_admin(conn: Connection, preset: PresetAdmin, keys: Keys) -> Player | None:
    """Return the preset administrator with their ``session_hash``, ``None`` before the first use."""
    user_id = find_preset_admin(conn, preset)
    return None if user_id is None else load_player(conn, user_id, keys)


def ensure_preset_admin(conn: Connection, now: datetime, preset: PresetAdmin, password_hash: str) -> int:
    """Return the id of the preset administrator, who is made where missing: verified, and hidden from the public.

    Raises ``Invalid`` where the e-mail address or the name belongs to somebody who is no administrator.
    """
    serialise(conn, "users")
    found = find_preset_admin(conn, preset)
    if found is not None:
        return found
    taken = or_(users.c.email == preset.email, users.c.name == preset.name)
    if conn.execute(select(users.c.id).where(taken)).first() is not None:
        raise Invalid({"": [NOT_CREATED]})
    user_id = insert_user(
        conn,
        now,
        name=preset.name,
        email=preset.email,
        password=password_hash,
        type="admin",
        verified=True,
        hidden=True,
    )
    tell_user_created(conn, now, user_id)
    return user_id
