"""Modules and audiences, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

from ctfd_twisted.accounts import audiences
from ctfd_twisted.challenges import modules_store
from ctfd_twisted.challenges.catalogue import read_catalogue
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.testing.builders import a_challenge, a_user


def test_a_module_is_opened_to_the_members_of_an_audience(any_conn: Connection) -> None:
    conn, number, user = any_conn, a_challenge(any_conn), a_user(any_conn)
    module = modules_store.create_module(conn, modules_store.ModuleFields("Finals"))
    audience = audiences.create_audience(conn, audiences.AudienceFields("Finalists"))
    modules_store.move_challenge(conn, module.id, number)
    modules_store.open_to(conn, module.id, audience.id)
    member = audiences.add_member(conn, audience.id, audiences.AudienceMemberFields(user_id=user))
    assert read_catalogue(conn).modules_of(user) == {module.id}
    with pytest.raises(Invalid):
        modules_store.open_to(conn, module.id, audience.id)
    with pytest.raises(Invalid):
        audiences.add_member(conn, audience.id, audiences.AudienceMemberFields(user_id=user))
    with pytest.raises(Invalid):
        audiences.add_member(conn, audience.id, audiences.AudienceMemberFields(team_id=user + 99))
    found = modules_store.list_modules(conn, modules_store.ModuleFilter(q="inal", field="name"))
    assert found == [module]
    audiences.remove_member(conn, audience.id, member.id)
    assert read_catalogue(conn).modules_of(user) == frozenset()
    audiences.delete_audience(conn, audience.id)
    assert modules_store.list_audiences(conn, module.id) == []
    modules_store.delete_module(conn, module.id)
    assert read_catalogue(conn).entries[number].gate.module_id is None
    with pytest.raises(NotFound):
        modules_store.read_module(conn, module.id)
