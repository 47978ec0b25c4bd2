"""Several people, or one in several windows, come from MajorLeagueCyber at the same moment, over both databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import func, select

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.oauth_rules import Profile, Team, Turned
from ctfd_twisted.accounts.oauth_store import Arrival, arrive
from ctfd_twisted.accounts.sessions import Entrance
from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.signup import Form, NewUser, found_team, register
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.errors import Forbidden, Invalid
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_user
from ctfd_twisted.webhooks.tables import events

NOW = datetime(2026, 3, 14, tzinfo=UTC)
AT_ONCE = 8
KEYS = Keys(b"a key")
PLAYERS = Competition({})
TEAMS = Competition({"user_mode": "teams", "team_size": "3"})
Nodes = list[Database]


@pytest.fixture
def nodes(database_url: str) -> Iterator[Nodes]:
    nodes = [Database(open_engines(database_url), Bus(), write=start_inline, read=start_inline) for _ in range(AT_ONCE)]
    yield nodes
    for node in nodes:
        node.close()


def at_once(work: Callable[[int], Any]) -> Counter[str]:
    """How often each outcome came: ``ok``, or the name of the error."""
    together = Barrier(AT_ONCE)

    def one(number: int) -> str:
        together.wait(30)
        try:
            work(number)
        except (Invalid, Forbidden, Turned) as refused:
            return type(refused).__name__
        return "ok"

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return Counter(threads.map(one, range(AT_ONCE)))


def comes(node: Database, number: int, competition: Competition, profile: Profile) -> Arrival:
    entrance = Entrance(f"s.{number}", "", "::1", "")
    return result_of(node.run(arrive, NOW, KEYS, competition, profile, entrance, None))


def count(nodes: Nodes, table: Any) -> int:
    return int(result_of(nodes[0].read(lambda conn: conn.scalar(select(func.count()).select_from(table)) or 0)))


def a_profile(number: int, team: Team | None = None) -> Profile:
    return Profile(number, "ada", f"ada{number}@example.org", team=team)


def test_two_first_arrivals_of_one_person_make_one_account(nodes: Nodes) -> None:
    team = Team(70, "Lovelaces")
    outcomes = at_once(lambda number: comes(nodes[number], number, TEAMS, a_profile(7, team)))
    assert outcomes == {"ok": AT_ONCE}
    assert (count(nodes, users), count(nodes, teams), count(nodes, sessions)) == (1, 1, AT_ONCE)
    assert count(nodes, events) == 2


def test_somebody_who_registers_meanwhile_has_one_account(nodes: Nodes) -> None:
    """Whoever is first, the address is one person's."""

    def come(number: int) -> None:
        if number % 2:
            comes(nodes[number], number, PLAYERS, a_profile(7))
        else:
            form = NewUser(name="eve", email="ada7@example.org", password="p")
            entrance = Entrance(f"s.{number}", "", "::1", "")
            result_of(nodes[number].run(register, NOW, PLAYERS, form, "hash", entrance))

    outcomes = at_once(come)
    assert outcomes["ok"] in {AT_ONCE // 2, AT_ONCE // 2 + 1}
    assert count(nodes, users) == 1
    assert result_of(nodes[0].read(lambda conn: conn.scalar(select(users.c.oauth_id)))) == 7


def test_people_of_one_name_get_a_name_each(nodes: Nodes) -> None:
    assert at_once(lambda number: comes(nodes[number], number, PLAYERS, a_profile(number + 1))) == {"ok": AT_ONCE}
    names = result_of(nodes[0].read(lambda conn: set(conn.scalars(select(users.c.name)))))
    assert names == {"ada", *(f"ada ({number})" for number in range(2, AT_ONCE + 1))}


def test_a_team_and_a_competition_hold_no_more_than_they_hold(nodes: Nodes) -> None:
    team = Team(70, "Lovelaces")
    outcomes = at_once(lambda number: comes(nodes[number], number, TEAMS, a_profile(number + 1, team)))
    assert outcomes == {"ok": 3, "Turned": AT_ONCE - 3}
    assert (count(nodes, users), count(nodes, teams)) == (3, 1)
    full = Competition({"num_users": "5"})
    outcomes = at_once(lambda number: comes(nodes[number], number + 100, full, a_profile(number + 100)))
    assert outcomes == {"ok": 2, "Forbidden": AT_ONCE - 2}


def test_somebody_who_founds_a_team_meanwhile_is_in_one(nodes: Nodes) -> None:
    wanted = Profile(7, "ada", "ada@example.org", team=Team(70, "Lovelaces"))
    user_id = result_of(nodes[0].run(lambda conn: a_user(conn, email="ada@example.org", oauth_id=7)))

    def come(number: int) -> None:
        if number % 2:
            comes(nodes[number], number, TEAMS, wanted)
        else:
            form = Form(name=f"team {number}", password="p")
            result_of(nodes[number].run(found_team, NOW, TEAMS, form, "hash", user_id))

    outcomes = at_once(come)
    assert outcomes["ok"] in {AT_ONCE // 2, AT_ONCE // 2 + 1}
    assert count(nodes, teams) == 1
