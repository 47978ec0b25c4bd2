"""Settings and custom fields, on SQLite and on PostgreSQL."""

from typing import Any

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.accounts import fields_store
from ctfd_twisted.accounts.tables import field_entries
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition import configs_store
from ctfd_twisted.competition.configs_store import ConfigChange, ConfigFields, ConfigFilter
from ctfd_twisted.competition.tables import config
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user


def keys(conn: Connection, **wanted: Any) -> list[str | None]:
    return [row["key"] for row in configs_store.list_configs(conn, ConfigFilter(**wanted))]


def test_settings(any_conn: Connection) -> None:
    conn = any_conn
    configs_store.set_configs(conn, {"long key " * 1000: "x", "start": 4102444800, "paused": True, "end": None})
    paused = configs_store.read_config(conn, "paused")
    assert paused["value"] == ("true" if conn.dialect.name == "postgresql" else "1")
    assert configs_store.set_config(conn, ConfigFields("paused", "0")) == {**paused, "value": "0"}
    assert keys(conn, q="pau", field="key") == keys(conn, value="0") == ["paused"]
    renamed = configs_store.change_config(conn, "paused", ConfigChange(key="held", value="1"))
    assert renamed == {**paused, "key": "held", "value": "1"}
    with pytest.raises(Invalid):
        configs_store.change_config(conn, "held", ConfigChange(key="start"))
    insert_row(conn, config, {"key": "held", "value": "second"})
    configs_store.delete_config(conn, "held")
    with pytest.raises(NotFound):
        configs_store.read_config(conn, "held")


def test_values_follow_the_mode(any_conn: Connection) -> None:
    conn, team = any_conn, a_team(any_conn)
    number = a_challenge(conn, dynamic={"decay": 10, "function": "linear"}, value=480)
    for team_id in (None, None, team):
        a_solve(conn, number, a_user(conn), team_id=team_id)
    for mode, value in (("teams", 500), ("users", 480)):
        configs_store.set_configs(conn, {"user_mode": mode})
        assert conn.scalar(select(challenges.c.value)) == value


def test_fields(any_conn: Connection) -> None:
    conn = any_conn
    body = fields_store.FieldFields(name="Size", type="user", field_type="text", description="of shirt", public=True)
    made = fields_store.create_field(conn, body)
    entry = {"type": "user", "value": "M", "field_id": made["id"], "user_id": a_user(conn)}
    insert_row(conn, field_entries, entry)
    changed = fields_store.update_field(conn, made["id"], fields_store.FieldFields(editable=True, public=None))
    assert changed == {**made, "editable": True, "public": False}
    assert fields_store.list_fields(conn, fields_store.FieldFilter(q="shirt", field="description")) == [changed]
    fields_store.delete_field(conn, made["id"])
    assert conn.execute(select(field_entries.c.id)).all() == []
