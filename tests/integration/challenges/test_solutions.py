"""Solutions, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import datetime

import pytest
from sqlalchemy import Connection

from ctfd_twisted.challenges import solutions_store as store
from ctfd_twisted.challenges.unlocking import NewUnlock, unlock_solution
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.testing.builders import a_challenge, a_user


def test_a_challenge_has_one_solution(any_conn: Connection, now: datetime) -> None:
    conn, number, user, users_mode = any_conn, a_challenge(any_conn), a_user(any_conn), Competition({})
    made = store.create_solution(conn, store.NewSolution(number, "so", "visible"))
    for challenge in (number, number + 1):
        with pytest.raises(Invalid):
            store.create_solution(conn, store.NewSolution(challenge))
    lost = store.create_solution(conn, store.NewSolution())
    with pytest.raises(Invalid):
        store.update_solution(conn, lost.id, store.SolutionFields(challenge_id=number))
    assert store.list_solutions(conn, store.SolutionFilter(q="isib", field="state")) == [made]
    assert not store.is_unlocked(conn, users_mode, made.id, user)
    unlock_solution(conn, now, NewUnlock(user, is_admin=False, target=made.id))
    assert store.is_unlocked(conn, users_mode, made.id, user)
    assert not store.is_unlocked(conn, users_mode, made.id, None)
    assert store.delete_solution(conn, made.id) == ()
    assert not store.is_unlocked(conn, users_mode, made.id, user)
    with pytest.raises(NotFound):
        store.read_solution(conn, made.id)
