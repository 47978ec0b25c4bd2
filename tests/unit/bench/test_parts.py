"""Parts of the whole measurement: what is compared, what is summed up, and how the commands are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import every
from bench.__main__ import main, parser
from bench.admin import Cost, Row, summary
from bench.goals import Goal
from bench.load import Measured
from bench.rush import parser as rush_parser
from bench.rush_report import goals_of, report
from bench.rush_shapes import Sample
from bench.table import Line, Table, compare, of_bare, size_of


def line(requests: int, cpu: float, bare: float) -> Line:
    return Line(Measured(requests, 1.0, [], 10, []), cpu, bare, 90)


def test_ten_times_the_solves_are_compared_by_the_share_of_a_route_that_sends_as_many_bytes() -> None:
    goal = Goal(of_bare("board"), 75, 80, "%", at_least=True)
    few = Table({"board": line(1000, 1, 2000), "login": line(10, 1, 2000)}, [goal])
    many = Table({"board": line(100, 1, 210), "login": line(10, 1, 2000)}, [])
    (found,) = compare(few, many)
    assert found.measured == pytest.approx(100 / 210 / 0.5 * 100)
    assert found.met
    assert compare(few, Table({}, [])) == []


def test_an_event_has_people_enough_for_its_solves() -> None:
    size = size_of(200_000)
    assert size.solves == 200_000
    assert size.teams * size.challenges >= size.solves
    assert size_of(1).teams == 250


def test_the_dearest_of_each_kind_is_told_with_its_path() -> None:
    costs = [
        (Row("/a"), Cost(1, cold=10, warm=1, pause=4)),
        (Row("/b"), Cost(1, cold=60, warm=1, pause=3)),
        (Row("/c", 500), Cost(1, cold=400, warm=1, pause=9)),
    ]
    lists, numbers, pause = summary(costs)
    assert (lists.measured, lists.met, "/b" in lists.what) == (60, False, True)
    assert (numbers.measured, numbers.met) == (400, True)
    assert (pause.measured, "/c" in pause.what) == (9, True)
    assert summary([]) == []


def test_a_rush_aims_at_lists_and_details_that_come_soon_but_not_while_everybody_signs_in() -> None:
    samples = [Sample("list", 0.0, 0.2, 200, None, ""), Sample("detail", 0.0, 0.1, 200, None, "500")]
    told = report("here", 2, 1, samples, [], [], "2 cores")
    lists, _, wrong = goals_of(told, logins=False)
    assert (lists.goal, lists.measured, lists.met) == (150, 200, False)
    assert (wrong.measured, wrong.met) == (1, False)
    assert [one.goal for one in goals_of(told, logins=True)] == [None, None, 0]


@pytest.mark.parametrize("part", every.PARTS, ids=lambda part: part.name)
def test_each_part_is_a_command_that_there_is(part: every.Part) -> None:
    if part.arguments[0] == "rush":
        rush_parser().parse_args([*part.arguments[1:], "--json", "x", "--out", "y", "--database", "z"])
    else:
        parser().parse_args([*part.arguments, "--json", "x", "--database", "z"])


def test_no_part_of_that_name_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="event, rush"):
        main(["all", "--only", "nonsense", "--out", str(tmp_path / "out")])


def test_times_are_told_as_people_read_them() -> None:
    assert (every.minutes(45), every.minutes(60), every.minutes(725)) == ("45 s", "1 min", "12 min")
