"""Many people at once: a name is given once, a team holds so many, and a competition takes so many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any, TypeVar

import pytest
from sqlalchemy import func, select

from ctfd_twisted.accounts.bodies import NewPassword, OwnUserBody, Sent, UserBody
from ctfd_twisted.accounts.deletion import delete_user
from ctfd_twisted.accounts.membership import disband_own_team, find_team, join_team
from ctfd_twisted.accounts.preset import ensure_preset_admin
from ctfd_twisted.accounts.sessions import Entrance
from ctfd_twisted.accounts.setup import SetupForm, set_up_competition
from ctfd_twisted.accounts.signup import Form, NewUser, found_team, register
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.accounts.users import create_user, edit_own_user
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.errors import Forbidden, Invalid
from ctfd_twisted.settings import PresetAdmin
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_team, a_user
from ctfd_twisted.webhooks.tables import events

T = TypeVar("T")

NOW = datetime(2026, 3, 14, tzinfo=UTC)
AT_ONCE = 8
TEAMS = Competition({"user_mode": "teams", "team_size": "3"})


class Nodes:
    """As many nodes as people come at once, over one database: on SQLite, each has the one writer of its process."""

    def __init__(self, url: str) -> None:
        self._nodes = [
            Database(open_engines(url), Bus(), write=start_inline, read=start_inline) for _ in range(AT_ONCE)
        ]

    def on(self, number: int, fn: Callable[..., T], *args: Any, **options: Any) -> T:
        return result_of(self._nodes[number].run(fn, *args, **options))

    def run(self, fn: Callable[..., T], *args: Any) -> T:
        return self.on(0, fn, *args)

    def count(self, table: Any) -> int:
        return self.run(lambda conn: conn.scalar(select(func.count()).select_from(table)) or 0)

    def close(self) -> None:
        for node in self._nodes:
            node.close()


@pytest.fixture
def nodes(database_url: str) -> Iterator[Nodes]:
    nodes = Nodes(database_url)
    yield nodes
    nodes.close()


def at_once(work: Callable[[int], Any]) -> Counter[str]:
    """How often each outcome came: ``ok``, or the name of the error."""
    together = Barrier(AT_ONCE)

    def one(number: int) -> str:
        together.wait(30)
        try:
            work(number)
        except (Invalid, Forbidden) as refused:
            return type(refused).__name__
        return "ok"

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return Counter(threads.map(one, range(AT_ONCE)))


def entrance(number: int) -> Entrance:
    return Entrance(f"s.{number}", "mac", "::1", "")


def newcomer(number: int, **changes: Any) -> NewUser:
    return NewUser(**{"name": f"n{number}", "email": f"n{number}@x.co", "password": "p", **changes})


@pytest.mark.parametrize("same", [{"name": "eve"}, {"email": "eve@x.co"}])
def test_a_name_and_an_address_are_registered_once(nodes: Nodes, same: dict[str, str]) -> None:
    outcomes = at_once(
        lambda number: nodes.on(
            number, register, NOW, Competition({}), newcomer(number, **same), "hash", entrance(number)
        )
    )
    assert outcomes == {"ok": 1, "Invalid": AT_ONCE - 1}
    assert (nodes.count(users), nodes.count(events)) == (1, 1)


def test_a_competition_takes_no_more_than_it_takes(nodes: Nodes) -> None:
    competition = Competition({"num_users": "3"})
    outcomes = at_once(
        lambda number: nodes.on(number, register, NOW, competition, newcomer(number), "hash", entrance(number))
    )
    assert outcomes == {"ok": 3, "Forbidden": AT_ONCE - 3}
    assert nodes.count(users) == 3


def test_a_name_is_created_once_by_admins_too(nodes: Nodes) -> None:
    outcomes = at_once(
        lambda number: nodes.on(
            number, create_user, NOW, Sent(UserBody(name="eve", password="p")), NewPassword(hashed="hash")
        )
    )
    assert outcomes == {"ok": 1, "Invalid": AT_ONCE - 1}


def test_a_name_is_taken_by_one_of_those_who_want_it(nodes: Nodes) -> None:
    ids = [nodes.run(a_user) for _ in range(AT_ONCE)]
    outcomes = at_once(
        lambda number: nodes.on(
            number, edit_own_user, NOW, Competition({}), ids[number], Sent(OwnUserBody(name="eve")), NewPassword(), None
        )
    )
    assert outcomes == {"ok": 1, "Invalid": AT_ONCE - 1}


def test_a_team_is_never_overfull(nodes: Nodes) -> None:
    ids = [nodes.run(a_user) for _ in range(AT_ONCE)]
    nodes.run(lambda conn: a_team(conn, name="T", password="hash"))
    team = nodes.run(find_team, "T")
    assert team is not None
    outcomes = at_once(lambda number: nodes.on(number, join_team, TEAMS, team, ids[number], becomes_captain=True))
    assert outcomes == {"ok": 3, "Invalid": AT_ONCE - 3}
    row = nodes.run(lambda conn: conn.execute(select(teams.c.captain_id)).one())
    assert row.captain_id in ids


def test_nobody_is_in_two_teams(nodes: Nodes) -> None:
    user_id = nodes.run(a_user)
    outcomes = at_once(
        lambda number: nodes.on(number, found_team, NOW, TEAMS, Form(name=f"T{number}", password="p"), "hash", user_id)
    )
    assert outcomes == {"ok": 1, "Invalid": AT_ONCE - 1}
    assert nodes.count(teams) == 1


def test_so_many_teams_are_founded_as_there_may_be(nodes: Nodes) -> None:
    ids = [nodes.run(a_user) for _ in range(AT_ONCE)]
    competition = Competition({"user_mode": "teams", "num_teams": "2"})
    outcomes = at_once(
        lambda number: nodes.on(
            number, found_team, NOW, competition, Form(name=f"T{number}", password="p"), "hash", ids[number]
        )
    )
    assert outcomes == {"ok": 2, "Forbidden": AT_ONCE - 2}


def test_the_competition_is_set_up_once(nodes: Nodes) -> None:
    form = SetupForm(ctf_name="X", name="admin", email="a@b.co", password="p")
    outcomes = at_once(lambda number: nodes.on(number, set_up_competition, NOW, form, "hash"))
    assert outcomes == {"ok": 1, "Invalid": AT_ONCE - 1}
    assert nodes.count(users) == 1


def test_the_preset_admin_is_made_once(nodes: Nodes) -> None:
    preset = PresetAdmin("boss", "boss@x.co", "p")
    assert at_once(lambda number: nodes.on(number, ensure_preset_admin, NOW, preset, "hash")) == {"ok": AT_ONCE}
    assert nodes.count(users) == 1


def test_disbanding_deleting_and_joining_do_not_stop_each_other(nodes: Nodes) -> None:
    captain = nodes.run(a_user)
    nodes.run(found_team, NOW, TEAMS, Form(name="T", password="p"), "hash", captain)
    team = nodes.run(find_team, "T")
    assert team is not None
    ids = [nodes.run(a_user) for _ in range(AT_ONCE)]

    def work(number: int) -> None:
        try:
            if number == 0:
                nodes.on(number, disband_own_team, TEAMS, captain)
            elif number == 1:
                nodes.on(number, delete_user, 0, captain)
            else:
                nodes.on(number, join_team, TEAMS, team, ids[number], becomes_captain=True)
        except (Invalid, Forbidden):
            raise
        except Exception as error:
            if type(error).__name__ not in {"NotFound", "Refused"}:
                raise

    at_once(work)
    assert nodes.count(teams) in {0, 1}
