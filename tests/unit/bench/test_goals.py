"""Goals: when one is met, how they are shown, and that a file of them says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.goals import Goal, faults, read, shown, status, table, write

SLOW = Goal("list, p99", 150, 151, "ms")
FAST = Goal("list, p99", 150, 150, "ms")
MORE = Goal("2 workers", 1.6, 1.6, "times", at_least=True)
LESS = Goal("2 workers", 1.6, 1.59, "times", at_least=True)
TOLD = Goal("CPU", None, 28, "%")


@pytest.mark.parametrize("goal", [FAST, MORE, TOLD, faults("wrong", 0)])
def test_a_goal_is_met_where_it_is_reached_or_is_none(goal: Goal) -> None:
    assert goal.met
    assert status([TOLD, goal]) == 0


@pytest.mark.parametrize("goal", [SLOW, LESS, faults("wrong", 1)])
def test_a_goal_that_is_missed_is_the_commands_failure(goal: Goal) -> None:
    assert not goal.met
    assert status([TOLD, goal]) == 1


def test_no_goal_at_all_is_no_failure() -> None:
    assert status([]) == 0
    assert table([]).strip().split() == ["goal", "measured", "met"]


def test_a_table_has_a_line_for_each_goal_and_says_which_was_missed() -> None:
    heads, *lines = table([SLOW, MORE, TOLD]).splitlines()
    assert heads.split() == ["goal", "measured", "met"]
    assert [line.split() for line in lines] == [
        ["list,", "p99", "<=", "150", "ms", "151", "ms", "NO"],
        ["2", "workers", ">=", "1.60", "times", "1.60", "times", "yes"],
        ["CPU", "28", "%"],
    ]


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (150.0, "150"), (1.567, "1.57"), (12.345, "12.3"), (888.8, "889"), (0.02, "0.02")]
)
def test_a_number_has_as_many_digits_as_people_read(value: float, text: str) -> None:
    assert shown(value, "") == text
    assert shown(value, "ms") == f"{text} ms"


def test_a_file_of_goals_says_what_was_met_and_is_read_again(tmp_path: Path) -> None:
    write(tmp_path / "goals.json", [SLOW, MORE, TOLD])
    assert read(tmp_path / "goals.json") == [SLOW, MORE, TOLD]
    told = json.loads((tmp_path / "goals.json").read_text())
    assert [one["met"] for one in told] == [False, True, True]
    assert told[0] == {"what": "list, p99", "goal": 150, "measured": 151, "unit": "ms", "at_least": False, "met": False}
