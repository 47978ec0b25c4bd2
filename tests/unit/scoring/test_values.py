"""Values after any history are what the counted solves say."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, select, update

from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.attempts import attempt
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.challenges.tables import challenges, dynamic_challenge
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.errors import Forbidden, Invalid, Malformed
from ctfd_twisted.scoring.rules import linear, logarithmic
from ctfd_twisted.scoring.submissions_store import (
    SubmissionFields,
    create_submission,
    delete_submission,
    regrade_submission,
)
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.scoring.values import counted_solves, frozen_values, present_kind, recompute_values
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_team, a_user

NOW = datetime(2026, 3, 14, tzinfo=UTC)


def values(conn: Connection) -> dict[int, int | None]:
    return {row.id: row.value for row in conn.execute(select(challenges.c.id, challenges.c.value))}


def test_solves_of_listed_accounts_count(conn: Connection) -> None:
    challenge = a_challenge(conn, dynamic={})
    for columns in ({}, {}, {"hidden": True}, {"banned": True}, {"hidden": None}, {"hidden": True, "banned": True}):
        a_solve(conn, challenge, a_user(conn, **columns))
    assert counted_solves(conn, present_kind(conn)) == {challenge: 2}
    assert recompute_values(conn, [challenge]) == {challenge: logarithmic(500, 100, 10, 2)}
    assert values(conn) == {challenge: logarithmic(500, 100, 10, 2)}


def test_where_teams_play_the_team_must_be_listed(conn: Connection) -> None:
    write_config(conn, {"user_mode": "teams"})
    challenge = a_challenge(conn, function="linear", initial=50, minimum=1, decay=7)
    a_solve(conn, challenge, a_user(conn, hidden=True), team_id=a_team(conn))
    a_solve(conn, challenge, a_user(conn, banned=True), team_id=a_team(conn))
    a_solve(conn, challenge, a_user(conn), team_id=a_team(conn, banned=True))
    recompute_values(conn)
    assert values(conn) == {challenge: linear(50, 1, 7, 2)}


def test_what_does_not_follow_the_solves_stays(conn: Connection) -> None:
    ids = [
        a_challenge(conn, value=7),
        a_challenge(conn, value=7, function=None, initial=1, minimum=1, decay=1),
        a_challenge(conn, value=7, function="linear"),
        a_challenge(conn, value=7, type="unknown"),
        a_challenge(conn, value=None),
        a_challenge(conn, value=7, type="dynamic"),
    ]
    before = values(conn)
    taken_topics(conn)
    assert recompute_values(conn) == {}
    assert values(conn) == before
    assert set(before) == set(ids)
    assert taken_topics(conn) == {"challenges", "standings"}


def test_the_public_sees_the_value_of_the_freeze(conn: Connection) -> None:
    still, moved = a_challenge(conn), a_challenge(conn, dynamic={})
    for challenge in (still, moved):
        a_solve(conn, challenge, a_user(conn), date=NOW - timedelta(seconds=1))
        for seconds in range(3):
            a_solve(conn, challenge, a_user(conn), date=NOW + timedelta(seconds=seconds))
    recompute_values(conn)
    assert values(conn)[moved] == logarithmic(500, 100, 10, 4)
    assert frozen_values(conn, Competition({})) == {}
    assert frozen_values(conn, Competition({"freeze": str(int(NOW.timestamp()))})) == {moved: 500}
    assert frozen_values(conn, Competition({"freeze": str(int(NOW.timestamp()) + 60)})) == {}


Change = Callable[[Connection, list[int], list[int]], None]

WHO = st.integers(0, 4)
WHICH = st.integers(0, 2)


def _solve(who: int, which: int) -> Change:
    def change(conn: Connection, players: list[int], numbers: list[int]) -> None:
        with suppress(Forbidden):  # the banned and the deleted
            attempt(
                conn,
                NOW,
                NewAttempt(
                    players[who], is_admin=False, challenge_id=numbers[which], submission="flag{right}", address="::1"
                ),
            )

    return change


def _mark(who: int, column: str, value: bool) -> Change:  # noqa: FBT001 - built by Hypothesis
    def change(conn: Connection, players: list[int], numbers: list[int]) -> None:
        del numbers
        table = teams if present_kind(conn).table is teams else users
        team = select(users.c.team_id).where(users.c.id == players[who]).scalar_subquery()
        wanted = table.c.id == (team if table is teams else players[who])
        conn.execute(update(table).where(wanted).values({column: value}))
        recompute_values(conn)

    return change


def _delete_solves(who: int) -> Change:
    def change(conn: Connection, players: list[int], numbers: list[int]) -> None:
        del numbers
        conn.execute(delete(submissions).where(submissions.c.user_id == players[who]))
        recompute_values(conn)

    return change


def _add_by_hand(who: int, which: int) -> Change:
    def change(conn: Connection, players: list[int], numbers: list[int]) -> None:
        team = conn.execute(select(users.c.team_id).where(users.c.id == players[who])).scalar()
        fields = SubmissionFields(numbers[which], players[who], team, type="correct")
        with suppress(Malformed):  # the deleted, and who has solved it already
            create_submission(conn, NOW, fields)

    return change


def _grade_anew(which: int, type: str | None) -> Change:
    def change(conn: Connection, players: list[int], numbers: list[int]) -> None:
        del players, numbers
        ids = conn.execute(select(submissions.c.id).order_by(submissions.c.id)).scalars().all()
        if ids and type is None:
            delete_submission(conn, ids[which % len(ids)])
        elif ids:
            with suppress(Invalid):  # solved already
                regrade_submission(conn, NOW, ids[which % len(ids)], type)

    return change


def _delete_user(who: int) -> Change:
    def change(conn: Connection, players: list[int], numbers: list[int]) -> None:
        del numbers
        conn.execute(delete(users).where(users.c.id == players[who]))
        players[who] = 0
        recompute_values(conn)

    return change


def _edit(decay: int) -> Change:
    def change(conn: Connection, players: list[int], numbers: list[int]) -> None:
        del players
        conn.execute(update(dynamic_challenge).values(dynamic_decay=decay))
        recompute_values(conn, numbers)

    return change


CHANGES = st.lists(
    st.one_of(
        st.builds(_solve, WHO, WHICH),
        st.builds(_solve, WHO, WHICH),
        st.builds(_mark, WHO, st.sampled_from(["hidden", "banned"]), st.booleans()),
        st.builds(_delete_solves, WHO),
        st.builds(_add_by_hand, WHO, WHICH),
        st.builds(_grade_anew, st.integers(0, 9), st.sampled_from(["correct", "incorrect", None])),
        st.builds(_delete_user, WHO),
        st.builds(_edit, st.integers(0, 5)),
    ),
    max_size=25,
)


@pytest.mark.parametrize("mode", ["users", "teams"])
@given(changes=CHANGES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_step_by_step_is_what_counting_from_nothing_gives(conn: Connection, mode: str, changes: list[Change]) -> None:
    """After solves, bans, unbans, hiding, deletions, edits and new grades in any order."""
    with conn.begin_nested() as history:
        write_config(conn, {"user_mode": mode})
        players = [a_user(conn, team_id=a_team(conn)) for _ in range(5)]
        numbers = [
            a_challenge(conn, dynamic={"initial": 100, "minimum": 10, "decay": 3}),
            a_challenge(conn, function="linear", initial=90, minimum=20, decay=17),
            a_challenge(conn),
        ]
        for number in numbers:
            a_flag(conn, number)
        recompute_values(conn)
        for change in changes:
            change(conn, players, numbers)
        step_by_step = values(conn)
        conn.execute(update(challenges).where(challenges.c.id != numbers[2]).values(value=-1))
        recompute_values(conn)
        assert values(conn) == step_by_step
        history.rollback()
