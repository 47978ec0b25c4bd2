"""What ticks are worth and who is king."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.koth.protocol import Evidence, Failure
from ctfd_twisted.koth.rules import (
    FAILED,
    FOUND,
    NO_REIGN,
    Account,
    Reign,
    Verdict,
    decide,
    failures_after,
    up_or_down,
)
from ctfd_twisted.koth.settings import HillSettings

START = datetime(2026, 3, 14, 12, tzinfo=UTC)
PLAIN = HillSettings("http://h/", 60, 10)
ADA, BOB = Account(1, None), Account(2, None)


def seen(*owners: str, failure: Failure | None = None) -> Evidence:
    return Evidence(START, 5, 200, owners, failure, detail="why" if failure else "")


def judged(
    evidence: Evidence,
    *accounts: Account | None,
    reign: Reign = NO_REIGN,
    settings: HillSettings = PLAIN,
    tick: int = 0,
    teams: bool = False,
) -> Verdict:
    due = START + timedelta(minutes=tick)
    return decide(evidence, accounts, reign, settings, tick=tick, due=due, teams=teams)


def test_an_account_that_is_found_is_paid_the_reward_and_begins_a_reign() -> None:
    verdict = judged(seen("ada"), ADA, tick=7)
    assert (verdict.outcome, verdict.points, verdict.account) == ("held", 10, ADA)
    assert verdict.reign == Reign(1, None, 7, START + timedelta(minutes=7), 1)


@pytest.mark.parametrize(
    ("evidence", "accounts", "outcome"),
    [
        (seen(""), (None,), "unclaimed"),
        (seen("x"), (None,), "unknown"),
        (seen("ada"), (Account(1, None, "the user is banned"),), "ineligible"),
        (seen("ada", "bob"), (ADA, BOB), "contested"),
        (seen("ada", ""), (ADA, None), "contested"),
        (seen("x", "y"), (None, None), "contested"),
    ],
)
def test_a_tick_that_finds_nobody_pays_nothing_and_ends_the_reign(
    evidence: Evidence, accounts: tuple[Account | None, ...], outcome: str
) -> None:
    verdict = judged(evidence, *accounts, reign=Reign(1, None, 0, START, 5))
    assert (verdict.outcome, verdict.points, verdict.reign) == (outcome, 0, NO_REIGN)


@pytest.mark.parametrize("failure", ["unauthorized", "unreachable", "tls_error", "malformed", "unhealthy"])
def test_a_tick_that_learns_nothing_pays_nothing_and_dethrones_nobody(failure: Failure) -> None:
    reign = Reign(1, None, 0, START, 5)
    verdict = judged(seen(failure=failure), reign=reign)
    assert (verdict.outcome, verdict.points, verdict.reign, verdict.detail) == (failure, 0, reign, "why")


def test_a_token_first_and_the_name_then_are_one_owner() -> None:
    assert judged(seen("hill-u1-x", "ada"), ADA, ADA).outcome == "held"


def test_two_members_of_one_team_are_one_owner_where_teams_play() -> None:
    first, second = Account(1, 9), Account(2, 9)
    assert judged(seen("ada", "bob"), first, second, teams=True).outcome == "held"
    assert judged(seen("ada", "bob"), first, second, teams=False).outcome == "contested"


def test_another_member_of_the_kings_team_goes_on_with_the_reign() -> None:
    reign = Reign(1, 9, 0, START, 1)
    assert judged(seen("bob"), Account(2, 9), reign=reign, teams=True, tick=1).reign == Reign(2, 9, 0, START, 2)


def test_a_new_king_earns_from_the_nth_tick_in_a_row_on() -> None:
    settings = HillSettings("http://h/", 60, 10, confirm_ticks=3)
    reign, outcomes = NO_REIGN, []
    for tick, evidence in enumerate([*[seen("ada")] * 4, seen(failure="unreachable"), seen("ada"), seen("bob")]):
        accounts = (BOB if evidence.owners == ("bob",) else ADA,) * len(evidence.owners)
        verdict = judged(evidence, *accounts, reign=reign, settings=settings, tick=tick)
        reign = verdict.reign
        outcomes.append((verdict.outcome, verdict.points))
    assert outcomes == [
        ("unconfirmed", 0),
        ("unconfirmed", 0),
        ("held", 10),
        ("held", 10),
        ("unreachable", 0),
        ("held", 10),
        ("unconfirmed", 0),
    ]


def test_the_bonus_comes_with_each_full_ten_ticks_of_one_reign() -> None:
    settings = HillSettings("http://h/", 60, 10, hold_bonus=5)
    reign, points = NO_REIGN, []
    for tick in range(21):
        verdict = judged(seen("ada"), ADA, reign=reign, settings=settings, tick=tick)
        reign = verdict.reign
        points.append(verdict.points)
    assert points == [*[10] * 9, 15, *[10] * 9, 15, 10]


def test_failures_are_counted_in_a_row() -> None:
    failures = 0
    for outcome in ("unreachable", "tls_error", "overrun", "missed", "malformed"):
        failures = failures_after(failures, outcome)
    assert failures == 3
    assert failures_after(failures, "unclaimed") == 0


def test_players_see_up_or_down_alone() -> None:
    assert up_or_down(None) is None
    assert {up_or_down(outcome) for outcome in FAILED} == {"down"}
    assert up_or_down("held") == up_or_down("contested") == "up"


# The reigns that a list of ticks makes, written down without looking at the rules: runs of the same king.
OWNERS = {"": None, "?": None, "ada": ADA, "bob": BOB}


@given(st.lists(st.sampled_from(["ada", "bob", "", "?", "down"]), max_size=60), st.integers(1, 4), st.integers(0, 9))
def test_reigns_never_overlap_and_add_up_to_the_ticks_that_found_a_king(
    story: list[str], confirm: int, bonus: int
) -> None:
    settings = HillSettings("http://h/", 60, 10, confirm_ticks=confirm, hold_bonus=bonus)
    reign = NO_REIGN
    runs: dict[int, list[tuple[int, int | None, int]]] = {}
    for tick, owner in enumerate(story):
        evidence = seen(failure="unreachable") if owner == "down" else seen(owner)
        verdict = judged(
            evidence, *(OWNERS[text] for text in evidence.owners), reign=reign, settings=settings, tick=tick
        )
        reign = verdict.reign
        if verdict.outcome in FOUND:
            assert reign.number is not None
            runs.setdefault(reign.number, []).append((tick, reign.user_id, verdict.points))
    assert sum(map(len, runs.values())) == sum(owner in {"ada", "bob"} for owner in story)
    spans = [(run[0][0], run[-1][0]) for run in runs.values()]
    assert all(number == span[0] for number, span in zip(runs, spans, strict=True))
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    for run in runs.values():
        assert len({king for _, king, _ in run}) == 1
        paid = max(0, len(run) - confirm + 1)
        bonuses = sum(1 for held in range(confirm, len(run) + 1) if held % 10 == 0)
        assert sum(points for _, _, points in run) == paid * 10 + bonuses * bonus
