"""What administrators read and change about submissions, on both databases."""

from datetime import UTC, datetime

import msgspec
import pytest
from msgspec import UNSET, UnsetType
from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Invalid, Malformed
from ctfd_twisted.http.pagination import Page
from ctfd_twisted.scoring import statistics_store as statistics
from ctfd_twisted.scoring import submissions_store as store
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.matrix_store import progression_matrix
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.scoring.values import counted_solves
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_submission, a_team, a_user

NOW = datetime(2026, 3, 14, 15, tzinfo=UTC)


def test_a_solve_is_made_and_unmade(any_conn: Connection) -> None:
    user, challenge = a_user(any_conn), a_challenge(any_conn, dynamic={})
    wrong = a_submission(any_conn, challenge, user)
    solve = store.regrade_submission(any_conn, NOW, wrong, "correct")["id"]
    with pytest.raises(Invalid):
        store.regrade_submission(any_conn, NOW, wrong, "correct")
    with pytest.raises(Malformed):
        store.create_submission(any_conn, NOW, store.SubmissionFields(challenge, user, type="correct"))
    with pytest.raises(Malformed):
        store.create_submission(any_conn, NOW, store.SubmissionFields(challenge_id=999))
    store.regrade_submission(any_conn, NOW, solve, "incorrect")
    store.delete_submission(any_conn, wrong)
    found = store.list_submissions(any_conn, store.SubmissionFilter(q=str(user), field="user_id"), Page(1, 20))
    assert [(one["id"], one["type"]) for one in found.items] == [(solve, "incorrect")]


@pytest.mark.parametrize("mode", ["users", "teams"])
def test_all_statistics_are_answered(any_conn: Connection, mode: str) -> None:
    user, challenge = a_user(any_conn), a_challenge(any_conn, requirements={"prerequisites": []})
    a_solve(any_conn, challenge, user)
    competition = Competition({"user_mode": mode})
    for column in set(users.columns.keys()) - {"password", "secret"}:
        statistics.count_by(any_conn, users, column)
    for column in submissions.columns.keys():  # noqa: SIM118 - a collection of columns, not a dict
        assert sum(statistics.count_by(any_conn, submissions, column).values()) in {0, 1}
    assert statistics.challenges_by(any_conn, "requirements", "count", "id") == {'{"prerequisites": []}': 1}
    assert statistics.challenges_by(any_conn, "state", "sum", "value") == {"visible": 100}
    assert statistics.challenges_by(any_conn, "state", "sum", "name") == {"visible": 0}
    counts = {"users": (1, 1.0, {"100": 1}), "teams": (0, 0.0, {})}[mode]
    assert statistics.challenge_solves(any_conn, competition)[0]["solves"] == counts[0]
    assert statistics.solve_percentages(any_conn, competition)[0]["percentage"] == counts[1]
    assert statistics.score_distribution(any_conn, competition)["brackets"] == counts[2]
    matrix = progression_matrix(any_conn, competition, "")
    assert [line["solves"] for line in matrix["scoreboard"]] == ([[challenge]] if mode == "users" else [])


@pytest.mark.parametrize("type_", [UNSET, "correct", "incorrect", "partial"])
@pytest.mark.parametrize("size", [1, 3, 20])
def test_pages_of_submissions_make_up_all_of_them_in_their_order(
    any_conn: Connection, type_: str | UnsetType, size: int
) -> None:
    user = a_user(any_conn)
    made: dict[str, list[int]] = {"incorrect": [], "correct": []}
    for number in range(7):
        challenge = a_challenge(any_conn, name=f"Challenge {number}")
        made["incorrect"].append(a_submission(any_conn, challenge, user))
        if number % 3:
            made["correct"].append(a_solve(any_conn, challenge, user))
    wanted = store.SubmissionFilter(type=type_)
    all_of_them = sorted(made["incorrect"] + made["correct"]) if type_ is UNSET else made.get(str(type_), [])
    pages = [store.list_submissions(any_conn, wanted, Page(page, size)) for page in range(1, 15)]
    assert {page.total for page in pages} == {len(all_of_them)}
    assert [[one["id"] for one in page.items] for page in pages] == [
        all_of_them[begin : begin + size] for begin in range(0, 14 * size, size)
    ]


def test_ids_are_counted_once_each(any_conn: Connection) -> None:
    user, challenge = a_user(any_conn), a_challenge(any_conn)
    ids = [a_submission(any_conn, challenge, user) for _ in range(3)]
    assert statistics.count_by(any_conn, submissions, "id") == {str(one): 1 for one in ids}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_AT_ONCE", 2)
        told = msgspec.json.decode(statistics.count_by_as_json(any_conn, submissions, "id"))
    assert told == {str(one): 1 for one in ids}


@pytest.mark.parametrize("column", ["id", "type", "ip", "team_id"])
def test_no_submissions_are_counted_as_nothing(any_conn: Connection, column: str) -> None:
    assert msgspec.json.decode(statistics.count_by_as_json(any_conn, submissions, column)) == {}


@pytest.mark.parametrize("mode", ["users", "teams"])
def test_solves_of_all_challenges_are_counted_as_those_of_each(any_conn: Connection, mode: str) -> None:
    kind = account_kind(teams_mode=mode == "teams")
    challenges = [a_challenge(any_conn, name=name) for name in ("first", "second", "untouched")]
    states: list[dict[str, bool | None]] = [{}, {"hidden": True}, {"banned": True}, {"hidden": None}, {}]
    for number, state in enumerate(states):
        team = a_team(any_conn, name=f"Team {number}", **(state if mode == "teams" else {}))
        user = a_user(any_conn, name=f"player {number}", team_id=team, **(state if mode == "users" else {}))
        for challenge in challenges[: 1 + number % 2]:
            a_solve(any_conn, challenge, user, team_id=team)
    loner = a_user(any_conn, name="without a team")
    a_solve(any_conn, challenges[1], loner)
    counted = counted_solves(any_conn, kind)
    assert counted == counted_solves(any_conn, kind, challenges)
    assert counted == {challenges[0]: 2, **({challenges[1]: 1} if mode == "users" else {})}
