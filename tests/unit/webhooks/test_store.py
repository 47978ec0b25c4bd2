"""What ends up in the log, for whom, and at which price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from sqlalchemy import Connection, event, insert, select

from ctfd_twisted.accounts.tables import brackets, field_entries, fields, teams, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.errors import NotFound
from ctfd_twisted.scoring.tables import solves, submissions
from ctfd_twisted.webhooks import store
from ctfd_twisted.webhooks.events import EVENT_NAMES, EXAMPLES, Event, FieldValue, SolveCreated
from ctfd_twisted.webhooks.tables import deliveries, endpoints, events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


def an_endpoint(conn: Connection, now: datetime, **values: Any) -> int:
    row = {
        "url": "https://receiver.example/hook",
        "events": list(EVENT_NAMES),
        "standard_webhooks": False,
        "state": "active",
        "created": now,
        "failures": 0,
        **values,
    }
    key = conn.execute(insert(endpoints).values(**row)).inserted_primary_key
    assert key is not None
    return int(key[0])


def a_user(conn: Connection, id: int, **values: Any) -> int:
    conn.execute(
        insert(users).values(
            id=id, **{"name": f"user{id}", "email": f"{id}@example.com", "hidden": False, "banned": False} | values
        )
    )
    return id


def a_solve(conn: Connection, now: datetime, id: int, **ids: int | None) -> SolveCreated:
    conn.execute(insert(submissions).values(id=id, type="correct", date=now, provided="", **ids))
    conn.execute(insert(solves).values(id=id, **ids))
    return store.solve_created(conn, id)


def json(told: Event) -> Any:
    return msgspec.json.decode(told.body())


def log(conn: Connection) -> list[tuple[int, str]]:
    return [(row.seq, row.event) for row in conn.execute(select(events).order_by(events.c.seq))]


@pytest.fixture
def statements(conn: Connection) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(conn, "before_cursor_execute", note)
    yield seen
    event.remove(conn, "before_cursor_execute", note)


def test_events_are_numbered_without_a_gap_whoever_listens(conn: Connection, now: datetime) -> None:
    store.emit(conn, now, EXAMPLES[0])
    store.emit(conn, now, *EXAMPLES[1:])
    assert log(conn) == list(enumerate(EVENT_NAMES, 1))


def test_a_rolled_back_event_leaves_no_gap(conn: Connection, now: datetime) -> None:
    store.emit(conn, now, EXAMPLES[0])
    savepoint = conn.begin_nested()
    store.emit(conn, now, EXAMPLES[1])
    savepoint.rollback()
    store.emit(conn, now, EXAMPLES[2])
    assert log(conn) == [(1, "user.created"), (2, "solve.created")]


def test_the_body_is_frozen_as_it_is_emitted(conn: Connection, now: datetime) -> None:
    store.emit(conn, now, EXAMPLES[2])
    assert conn.execute(select(events.c.body)).scalar_one() == msgspec.json.encode(EXAMPLES[2])


def test_without_listeners_an_event_costs_two_statements(
    conn: Connection, now: datetime, statements: list[str]
) -> None:
    an_endpoint(conn, now, state="pending")
    an_endpoint(conn, now, state="disabled")
    statements.clear()
    store.emit(conn, now, EXAMPLES[2])
    assert len(statements) == 2
    assert taken_topics(conn) == frozenset()


def test_only_active_endpoints_that_asked_for_the_event_are_owed_it(conn: Connection, now: datetime) -> None:
    wants = an_endpoint(conn, now, events=["team.created", "solve.created"])
    an_endpoint(conn, now, events=["user.created"])
    an_endpoint(conn, now, state="pending")
    an_endpoint(conn, now, state="disabled")
    store.emit(conn, now, EXAMPLES[1], EXAMPLES[2])
    owed = conn.execute(select(deliveries).order_by(deliveries.c.seq)).all()
    assert [(row.endpoint_id, row.seq, row.state, row.attempts, row.next_attempt) for row in owed] == [
        (wants, 1, "pending", 0, None),
        (wants, 2, "pending", 0, None),
    ]
    assert len({row.id for row in owed}) == 2
    assert all(row.id.startswith("whd_") for row in owed)
    assert taken_topics(conn) == {"webhooks"}


def test_many_events_at_once_cost_no_more_statements_than_one(
    conn: Connection, now: datetime, statements: list[str]
) -> None:
    an_endpoint(conn, now)
    statements.clear()
    store.emit(conn, now, *EXAMPLES * 20)
    assert len(statements) == 4
    assert len(log(conn)) == len(conn.execute(select(deliveries.c.id)).all()) == 100


def test_a_user_is_told_with_public_fields_and_the_name_of_the_bracket(conn: Connection) -> None:
    conn.execute(insert(brackets).values(id=3, name="Students", type="users"))
    a_user(conn, 7, name="ada", country="GB", website="https://a.example", affiliation="AS", bracket_id=3, oauth_id=5)
    for id_, public in ((1, True), (2, False)):
        conn.execute(insert(fields).values(id=id_, name=f"f{id_}", type="user", field_type="text", public=public))
        conn.execute(insert(field_entries).values(field_id=id_, user_id=7, type="user", value=f"v{id_}"))
    told = store.user_created(conn, 7)
    assert json(told) == {
        "country": "GB",
        "website": "https://a.example",
        "oauth_id": 5,
        "name": "ada",
        "id": 7,
        "fields": [{"field_id": 1, "name": "f1", "value": "v1"}],
        "team_id": None,
        "affiliation": "AS",
        "bracket": "Students",
    }
    assert told.fields == (FieldValue(1, "f1", "v1"),)


def test_a_team_is_told_with_captain_and_members(conn: Connection) -> None:
    conn.execute(insert(teams).values(id=2, name="Lockpickers", hidden=False, banned=False))
    a_user(conn, 9, team_id=2)
    a_user(conn, 8, team_id=2)
    conn.execute(teams.update().values(captain_id=9))
    assert json(store.team_created(conn, 2)) == {
        "country": None,
        "website": None,
        "oauth_id": None,
        "name": "Lockpickers",
        "id": 2,
        "fields": [],
        "captain_id": 9,
        "members": [8, 9],
        "affiliation": None,
        "bracket": None,
    }


@pytest.fixture
def challenge(conn: Connection) -> int:
    conn.execute(
        insert(challenges).values(
            id=4, name="Warmup", category="web", value=100, state="visible", logic="any", position=0, type="standard"
        )
    )
    return 4


def test_a_solve_is_told_with_the_instant_in_microseconds(conn: Connection, now: datetime, challenge: int) -> None:
    told = a_solve(conn, now.replace(microsecond=0), 17, challenge_id=challenge, user_id=a_user(conn, 7))
    assert json(told) == {
        "id": 17,
        "challenge_id": 4,
        "challenge": {"id": 4, "name": "Warmup", "category": "web", "value": 100},
        "team": None,
        "user": {"id": 7, "name": "user7"},
        "date": "2026-03-14T15:09:26.000000+00:00",
        "type": "correct",
    }


def test_the_first_solve_of_a_listed_account_is_first_blood_and_no_other(
    conn: Connection, now: datetime, challenge: int
) -> None:
    for number, (hidden, banned) in enumerate(((True, False), (False, True), (False, False), (False, False)), 1):
        a_user(conn, number, hidden=hidden, banned=banned)
        solve = a_solve(conn, now, number, challenge_id=challenge, user_id=number)
        store.emit_solve(conn, now, solve, listed=not hidden and not banned, teams_mode=False)
    assert [name for _, name in log(conn)] == [
        "solve.created",
        "solve.created",
        "solve.created",
        "first_blood.created",
        "solve.created",
    ]
    bodies = conn.execute(select(events.c.body).where(events.c.seq.in_([3, 4]))).scalars().all()
    assert bodies[0] == bodies[1]


def test_in_team_mode_the_team_decides_whether_a_solve_was_earlier(
    conn: Connection, now: datetime, challenge: int
) -> None:
    conn.execute(insert(teams), [{"id": n, "name": f"t{n}", "hidden": n == 1, "banned": False} for n in (1, 2)])
    for n in (1, 2):
        a_user(conn, n, team_id=n)
        solve = a_solve(conn, now, n, challenge_id=challenge, user_id=n, team_id=n)
        store.emit_solve(conn, now, solve, listed=n == 2, teams_mode=True)
    assert [name for _, name in log(conn)] == ["solve.created", "solve.created", "first_blood.created"]


def test_a_hill_that_nobody_holds_any_more_has_a_previous_king_only(
    conn: Connection, now: datetime, challenge: int
) -> None:
    a_user(conn, 7)
    told = store.king_changed(conn, challenge, king=None, previous=7, teams_mode=False, since=now)
    assert json(told) == {
        "challenge_id": 4,
        "challenge": {"id": 4, "name": "Warmup", "category": "web", "value": 100},
        "king": None,
        "previous": {"id": 7, "name": "user7", "type": "user"},
        "since": "2026-03-14T15:09:26.535897+00:00",
    }


@pytest.mark.parametrize("tell", [store.user_created, store.team_created, store.solve_created])
def test_what_is_not_there_is_not_found(conn: Connection, tell: Any) -> None:
    with pytest.raises(NotFound):
        tell(conn, 99)


def test_every_event_has_an_example_of_its_own() -> None:
    assert [type(example).NAME for example in EXAMPLES] == list(EVENT_NAMES)
    for example in EXAMPLES:
        assert msgspec.json.decode(example.body(), type=type(example)) == example
