"""One attempt, from the checks to the stored rows."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, event, func, select

from ctfd_twisted.accounts.tables import audience_members, audiences
from ctfd_twisted.challenges.asking import Account
from ctfd_twisted.challenges.attempts import Outcome, preview
from ctfd_twisted.challenges.recording import Entry, NewAttempt, record_solves
from ctfd_twisted.challenges.tables import challenges, module_audience_access, modules
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.notices import taken_topics
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Forbidden, Impossible, NotFound
from ctfd_twisted.scoring.tables import solves, submissions
from ctfd_twisted.testing.answers import attempt
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_submission, a_team, a_user
from ctfd_twisted.webhooks.tables import events

HOUR = timedelta(hours=1)


def answered(
    conn: Connection, now: datetime, user_id: int, challenge_id: int, submission: str = "flag{right}", **facts: Any
) -> Outcome:
    """The outcome of one attempt; the topics of what came before it are forgotten."""
    taken_topics(conn)
    return attempt(
        conn,
        NewAttempt(
            now,
            user_id,
            challenge_id=challenge_id,
            submission=submission,
            **{"is_admin": False, "address": "::1", **facts},
        ),
    )


def stored(conn: Connection) -> list[tuple[str, str]]:
    """Type and text of every submission, oldest first."""
    rows = conn.execute(select(submissions.c.type, submissions.c.provided).order_by(submissions.c.id))
    return [(row.type, row.provided) for row in rows]


def happened(conn: Connection) -> list[str]:
    return list(conn.execute(select(events.c.event).order_by(events.c.seq)).scalars())


def a_module(conn: Connection, *user_ids: int) -> int:
    """A module that is open to *user_ids*."""
    module = insert_row(conn, modules, {"name": "module"})
    audience = insert_row(conn, audiences, {"name": "audience", "type": "standard"})
    insert_row(conn, module_audience_access, {"module_id": module, "audience_id": audience})
    for user_id in user_ids:
        insert_row(conn, audience_members, {"audience_id": audience, "user_id": user_id})
    return module


@pytest.fixture
def challenge(conn: Connection) -> int:
    """A challenge with one flag, ``flag{right}``, worth 100 points."""
    number = a_challenge(conn)
    a_flag(conn, number)
    return number


def test_a_right_answer_is_a_solve(conn: Connection, now: datetime, challenge: int) -> None:
    user = a_user(conn)
    assert answered(conn, now, user, challenge, "  flag{right}\n") == Outcome("correct", "Correct")
    assert taken_topics(conn) == {"points", f"points:user:{user}", "solved", f"solved:{challenge}", f"user:{user}"}
    (row,) = conn.execute(select(submissions)).all()
    assert (row.type, row.provided, row.ip, row.date, row.user_id, row.team_id) == (
        "correct", "flag{right}", "::1", now, user, None,
    )  # fmt: skip
    assert conn.execute(select(solves)).all() == [(row.id, challenge, user, None)]


def test_a_wrong_answer_is_told_to_nobody_else(conn: Connection, now: datetime, challenge: int) -> None:
    user = a_user(conn)
    assert answered(conn, now, user, challenge, "flag{wrong}") == Outcome("incorrect", "Incorrect")
    assert taken_topics(conn) == {f"user:{user}"}
    assert stored(conn) == [("incorrect", "flag{wrong}")]
    assert happened(conn) == []


def test_a_second_right_answer_is_already_solved_and_leaves_nothing(
    conn: Connection, now: datetime, challenge: int
) -> None:
    user = a_user(conn)
    answered(conn, now, user, challenge)
    assert answered(conn, now, user, challenge) == Outcome("already_solved", "Correct but you already solved this")
    assert answered(conn, now, user, challenge, "no") == Outcome(
        "already_solved", "Incorrect but you already solved this"
    )
    assert stored(conn) == [("correct", "flag{right}")]
    assert not taken_topics(conn)


def test_a_solve_that_somebody_else_has_just_stored_is_not_stored_again(
    conn: Connection, now: datetime, challenge: int
) -> None:
    user = a_user(conn)
    a_solve(conn, challenge, user)
    a_submission(conn, challenge, user)
    row = conn.execute(select(challenges)).one()
    new = NewAttempt(now, user, is_admin=False, challenge_id=challenge, submission="flag{right}", address="::1")
    entry = Entry(new, Account(user, "", None, "", listed=True), "flag{right}", "correct")
    assert record_solves(conn, [(entry, row)]) == [None]
    assert stored(conn) == [("correct", "flag{right}"), ("incorrect", "flag{wrong}")]


def test_the_first_solve_of_a_listed_account_is_first_blood(conn: Connection, now: datetime, challenge: int) -> None:
    hidden, first, second = a_user(conn, hidden=True), a_user(conn), a_user(conn)
    for user in (hidden, first, second):
        answered(conn, now, user, challenge)
    assert happened(conn) == ["solve.created", "solve.created", "first_blood.created", "solve.created"]


def test_a_decaying_value_follows_and_the_event_tells_it(conn: Connection, now: datetime) -> None:
    challenge = a_challenge(conn, dynamic={"function": "linear"}, value=500, name="slope")
    a_flag(conn, challenge)
    answered(conn, now, a_user(conn), challenge)
    second = a_user(conn, name="second")
    answered(conn, now, second, challenge)
    assert conn.execute(select(challenges.c.value)).scalar() == 490
    body = conn.execute(select(events.c.body).order_by(events.c.seq.desc())).scalar()
    assert body is not None
    told = msgspec.json.decode(body)
    assert told["challenge"] == {
        "id": challenge,
        "name": "slope",
        "category": "misc",
        "value": 490,
    }
    assert (told["user"], told["team"], told["type"]) == ({"id": second, "name": "second"}, None, "correct")


class TestTeams:
    """Where teams play."""

    @pytest.fixture(autouse=True)
    def teams_mode(self, conn: Connection) -> None:
        write_config(conn, {"user_mode": "teams"})

    def test_one_solve_is_everybodys(self, conn: Connection, now: datetime, challenge: int) -> None:
        a_user(conn, team_id=a_team(conn))
        team = a_team(conn, name="us")
        first, second = a_user(conn, team_id=team, name="first"), a_user(conn, team_id=team)
        assert answered(conn, now, first, challenge).status == "correct"
        points = {"points", f"points:user:{first}", f"points:team:{team}"}
        assert taken_topics(conn) == {*points, "solved", f"solved:{challenge}", f"team:{team}"}
        told = msgspec.json.decode(conn.execute(select(events.c.body)).scalars().all()[0])
        assert (told["team"], told["user"]) == ({"id": team, "name": "us"}, {"id": first, "name": "first"})
        assert answered(conn, now, second, challenge).status == "already_solved"
        assert conn.execute(select(solves.c.team_id)).scalars().all() == [team]

    def test_without_a_team_nothing_is_answered(self, conn: Connection, now: datetime, challenge: int) -> None:
        with pytest.raises(Forbidden):
            answered(conn, now, a_user(conn), challenge, is_admin=True)

    def test_who_solved_it_for_another_team_solves_nothing_more(
        self, conn: Connection, now: datetime, challenge: int
    ) -> None:
        user = a_user(conn, team_id=a_team(conn))
        a_solve(conn, challenge, user, team_id=a_team(conn))
        assert answered(conn, now, user, challenge).status == "already_solved"

    def test_limits_are_the_teams(self, conn: Connection, now: datetime) -> None:
        challenge = a_challenge(conn, max_attempts=2)
        team = a_team(conn)
        first, second = a_user(conn, team_id=team), a_user(conn, team_id=team)
        answered(conn, now, first, challenge)
        assert answered(conn, now, second, challenge).message == "Incorrect. You have 0 tries remaining."
        assert answered(conn, now, first, challenge).http_status == 403

    def test_every_member_has_to_answer_where_the_logic_says_so(self, conn: Connection, now: datetime) -> None:
        challenge = a_challenge(conn, logic="team")
        a_flag(conn, challenge)
        team = a_team(conn)
        first, second = a_user(conn, team_id=team), a_user(conn, team_id=team)
        a_user(conn, team_id=a_team(conn))
        assert answered(conn, now, first, challenge) == Outcome(
            "partial", "Correct but all team members must submit a flag"
        )
        assert taken_topics(conn) == {f"team:{team}"}
        assert answered(conn, now, first, challenge).status == "partial"
        assert answered(conn, now, second, challenge).status == "correct"
        assert conn.execute(select(solves.c.user_id)).scalars().all() == [second]


def test_flags_may_come_one_by_one(conn: Connection, now: datetime) -> None:
    challenge, user = a_challenge(conn, logic="all"), a_user(conn)
    a_flag(conn, challenge, "one")
    a_flag(conn, challenge, "two")
    assert answered(conn, now, user, challenge, "one").message == "Correct but more flags are required"
    assert answered(conn, now, a_user(conn), challenge, "two").status == "partial"
    assert answered(conn, now, user, challenge, "two").status == "correct"


class TestClosed:
    """What stands in the way, for administrators as well."""

    @pytest.mark.parametrize(
        ("columns", "error"),
        [
            ({"state": "hidden"}, NotFound),
            ({"state": "locked"}, Forbidden),
            ({"scheduled_at": datetime.fromisoformat("2031-01-01T00:00:00Z")}, NotFound),
        ],
    )
    @pytest.mark.parametrize("is_admin", [False, True])
    def test_what_is_not_open_is_not_answered(
        self, conn: Connection, now: datetime, columns: dict[str, Any], error: type[Exception], *, is_admin: bool
    ) -> None:
        challenge = a_challenge(conn, **columns)
        with pytest.raises(error):
            answered(conn, now, a_user(conn), challenge, is_admin=is_admin)
        assert stored(conn) == []

    @pytest.mark.parametrize("state", ["hidden", "visible"])
    def test_what_is_closed_costs_no_more_than_what_is_not_there(
        self, conn: Connection, now: datetime, state: str
    ) -> None:
        user, needs = a_user(conn), {"prerequisites": [a_challenge(conn)]}
        challenge = a_challenge(conn, state=state, scheduled_at=now + HOUR, requirements=needs)
        asked: list[str] = []
        event.listen(conn, "before_cursor_execute", lambda *args: asked.append(args[2]))
        costs = []
        for number in (challenge, 1_000_000):
            asked.clear()
            with pytest.raises(NotFound):
                answered(conn, now, user, number)
            costs.append(len(asked))
        assert costs[0] == costs[1]

    def test_an_unknown_challenge_is_not_found(self, conn: Connection, now: datetime) -> None:
        with pytest.raises(NotFound):
            answered(conn, now, a_user(conn), 1_000_000)

    def test_a_kind_that_nobody_brings_is_told(self, conn: Connection, now: datetime) -> None:
        challenge = a_challenge(conn, type="gone")
        with pytest.raises(Impossible, match=r"challenge type \(gone\) is not installed"):
            answered(conn, now, a_user(conn), challenge)

    def test_prerequisites_are_solves_of_the_account(self, conn: Connection, now: datetime) -> None:
        user = a_user(conn)
        first = a_challenge(conn)
        next_one = a_challenge(conn, requirements={"prerequisites": [first], "anonymize": True})
        a_solve(conn, first, a_user(conn))
        with pytest.raises(Forbidden):
            answered(conn, now, user, next_one)
        a_solve(conn, first, user)
        assert answered(conn, now, user, next_one).status == "incorrect"

    def test_a_module_is_open_to_its_audience(self, conn: Connection, now: datetime) -> None:
        user = a_user(conn)
        challenge = a_challenge(conn, module_id=a_module(conn, user))
        assert answered(conn, now, user, challenge).status == "incorrect"
        with pytest.raises(NotFound):
            answered(conn, now, a_user(conn), challenge, is_admin=True)

    def test_a_prerequisite_that_is_gone_is_not_asked_for(self, conn: Connection, now: datetime) -> None:
        challenge = a_challenge(conn, requirements={"prerequisites": [1_000_000]})
        assert answered(conn, now, a_user(conn), challenge).status == "incorrect"

    def test_who_was_banned_since_they_asked_is_refused(self, conn: Connection, now: datetime, challenge: int) -> None:
        with pytest.raises(Forbidden):
            answered(conn, now, a_user(conn, banned=True), challenge)


class TestTimes:
    """Start, end and pause, as they stand in the transaction."""

    def test_a_pause_binds_everybody(self, conn: Connection, now: datetime, challenge: int) -> None:
        write_config(conn, {"paused": True, "ctf_name": "Finals"})
        outcome = answered(conn, now, a_user(conn), challenge, is_admin=True)
        assert outcome == Outcome("paused", "Finals is paused", 403)
        assert stored(conn) == []

    def test_before_the_start_nothing_is_answered(self, conn: Connection, now: datetime, challenge: int) -> None:
        write_config(conn, {"start": int((now + HOUR).timestamp()), "ctf_name": "Finals"})
        with pytest.raises(Forbidden, match="Finals has not started yet"):
            answered(conn, now, a_user(conn), challenge)
        assert answered(conn, now, a_user(conn), challenge, is_admin=True).status == "correct"
        assert stored(conn) == [("correct", "flag{right}")]

    def test_after_the_end_nothing_is_answered(self, conn: Connection, now: datetime, challenge: int) -> None:
        write_config(conn, {"end": int((now - HOUR).timestamp()), "ctf_name": "Finals"})
        with pytest.raises(Forbidden, match="Finals has ended"):
            answered(conn, now, a_user(conn), challenge)

    def test_who_may_look_on_gets_answers_that_are_not_stored(
        self, conn: Connection, now: datetime, challenge: int
    ) -> None:
        user = a_user(conn)
        write_config(conn, {"end": int((now - HOUR).timestamp()), "view_after_ctf": True})
        assert answered(conn, now, user, challenge).status == "correct"
        assert answered(conn, now, user, challenge).status == "correct"
        assert answered(conn, now, user, challenge, "no").status == "incorrect"
        assert stored(conn) == []


class TestLimits:
    """How often an account may be wrong."""

    def test_the_last_try_is_told_and_then_nothing_counts(self, conn: Connection, now: datetime) -> None:
        challenge, user = a_challenge(conn, max_attempts=2), a_user(conn)
        a_flag(conn, challenge)
        assert answered(conn, now, user, challenge, "a").message == "Incorrect. You have 1 try remaining."
        assert answered(conn, now, user, challenge, "b").message == "Incorrect. You have 0 tries remaining."
        assert answered(conn, now, user, challenge) == Outcome(
            "ratelimited", "Not accepted. You have 0 tries remaining", 403
        )
        assert stored(conn) == [("incorrect", "a"), ("incorrect", "b")]
        assert answered(conn, now, a_user(conn), challenge).status == "correct"

    def test_only_wrong_answers_count(self, conn: Connection, now: datetime) -> None:
        challenge, user = a_challenge(conn, max_attempts=1), a_user(conn)
        a_flag(conn, challenge)
        for kind in ("partial", "discard", "ratelimited"):
            a_submission(conn, challenge, user, type=kind, date=now)
        assert answered(conn, now, user, challenge).status == "correct"

    def test_a_timeout_ends(self, conn: Connection, now: datetime) -> None:
        write_config(conn, {"max_attempts_behavior": "timeout", "max_attempts_timeout": 120})
        challenge, user = a_challenge(conn, max_attempts=1), a_user(conn)
        a_flag(conn, challenge)
        first = answered(conn, now, user, challenge, "a")
        assert first.message == "Incorrect. You have 0 tries remaining. Try again in 120 seconds"
        refused = answered(conn, now + timedelta(seconds=59.5), user, challenge)
        assert refused == Outcome("ratelimited", "Not accepted. Try again in 61 seconds", 429, 61)
        assert stored(conn)[-1] == ("ratelimited", "flag{right}")
        assert answered(conn, now + timedelta(seconds=120), user, challenge).status == "correct"

    def test_ten_wrong_answers_in_a_minute_over_all_challenges(
        self, conn: Connection, now: datetime, challenge: int
    ) -> None:
        user = a_user(conn)
        others = [a_challenge(conn) for _ in range(10)]
        for seconds, other in enumerate(others):
            assert answered(conn, now + timedelta(seconds=seconds), user, other).status == "incorrect"
        then = now + timedelta(seconds=20)
        assert answered(conn, then, user, challenge) == Outcome(
            "ratelimited", "You're submitting flags too fast. Try again in 40 seconds.", 429, 40
        )
        assert stored(conn)[-1][0] == "ratelimited"
        assert taken_topics(conn) == {f"user:{user}"}
        assert answered(conn, then, a_user(conn), challenge).status == "correct"
        assert answered(conn, now + timedelta(seconds=60), user, challenge).status == "correct"

    def test_many_right_and_partial_answers_are_no_crime(self, conn: Connection, now: datetime) -> None:
        challenge, user = a_challenge(conn, logic="all", max_attempts=2), a_user(conn)
        for number in range(12):
            a_flag(conn, challenge, str(number))
        statuses = [answered(conn, now, user, challenge, str(number)).status for number in range(12)]
        assert statuses == ["partial"] * 11 + ["correct"]
        assert {answered(conn, now, user, challenge, "1").status for _ in range(20)} == {"already_solved"}


def test_a_trial_by_an_administrator_leaves_nothing(conn: Connection, challenge: int) -> None:
    conn.execute(challenges.update().values(state="hidden"))
    assert preview(conn, challenge, " flag{right} ") == Outcome("correct", "Correct")
    assert preview(conn, challenge, "no") == Outcome("incorrect", "Incorrect")
    with pytest.raises(NotFound):
        preview(conn, 1_000_000, "x")
    assert conn.execute(select(func.count()).select_from(submissions)).scalar() == 0
