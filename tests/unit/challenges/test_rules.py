"""Who sees which challenge."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.challenges.rules import (
    Gate,
    Reach,
    Viewer,
    anonymize_of,
    like,
    order_key,
    prerequisites_of,
    reach,
)

NOW = datetime(2026, 3, 14, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EXISTING = frozenset(range(1, 10))


NOBODY = Viewer()


def reached(viewer: Viewer = NOBODY, **facts: Any) -> Reach:
    return reach(Gate(**{"id": 1, "state": "visible", **facts}), NOW, viewer, EXISTING)


def test_a_visible_challenge_is_open_to_everybody() -> None:
    assert reached() is Reach.OPEN


@pytest.mark.parametrize("state", ["hidden", "", "Visible", "draft"])
def test_every_other_state_hides(state: str) -> None:
    assert reached(state=state) is Reach.HIDDEN


def test_locked_is_locked() -> None:
    assert reached(state="locked") is Reach.LOCKED


def test_a_challenge_is_released_at_its_instant() -> None:
    assert reached(scheduled_at=NOW + SECOND) is Reach.CLOSED
    assert reached(scheduled_at=NOW) is Reach.OPEN


def test_a_module_is_open_to_those_it_was_opened_to() -> None:
    assert reached(module_id=7) is Reach.CLOSED
    assert reached(Viewer(modules=frozenset({7})), module_id=7) is Reach.OPEN


@pytest.mark.parametrize(
    ("anonymize", "shown"), [("no", Reach.UNMET), ("yes", Reach.PLACEHOLDER), ("preview", Reach.PREVIEW)]
)
def test_missing_prerequisites(anonymize: str, shown: Reach) -> None:
    needs: dict[str, Any] = {"prerequisites": frozenset({2, 3}), "anonymize": anonymize}
    assert reached(**needs) is shown
    assert reached(Viewer(solved=frozenset({2})), **needs) is shown
    assert reached(Viewer(solved=frozenset({2, 3})), **needs) is Reach.OPEN


def test_a_prerequisite_that_is_gone_is_not_asked_for() -> None:
    assert reached(prerequisites=frozenset({99})) is Reach.OPEN


GATES = st.builds(
    Gate,
    id=st.integers(1, 9),
    state=st.sampled_from(["visible", "hidden", "locked", "other"]),
    scheduled_at=st.none() | st.sampled_from([NOW - SECOND, NOW + SECOND]),
    module_id=st.none() | st.integers(1, 3),
    prerequisites=st.frozensets(st.integers(1, 12), max_size=3),
    anonymize=st.sampled_from(["no", "yes", "preview"]),
)


@given(GATES, st.frozensets(st.integers(1, 9)), st.frozensets(st.integers(1, 3)), st.integers(1, 9))
def test_a_further_solve_never_takes_a_challenge_away(
    gate: Gate, solved: frozenset[int], modules: frozenset[int], another: int
) -> None:
    before = reach(gate, NOW, Viewer(solved, modules), EXISTING)
    after = reach(gate, NOW, Viewer(solved | {another}, modules), EXISTING)
    assert after in {before, Reach.OPEN}


@given(GATES, st.frozensets(st.integers(1, 9)), st.frozensets(st.integers(1, 3)))
def test_what_is_listed_is_visible_released_and_permitted(
    gate: Gate, solved: frozenset[int], modules: frozenset[int]
) -> None:
    if reach(gate, NOW, Viewer(solved, modules), EXISTING).exists:
        assert gate.state == "visible"
        assert gate.scheduled_at is None or gate.scheduled_at <= NOW
        assert gate.module_id is None or gate.module_id in modules


@pytest.mark.parametrize(
    ("requirements", "ids", "anonymize"),
    [
        (None, set(), "no"),
        ({}, set(), "no"),
        ({"prerequisites": None}, set(), "no"),
        ({"prerequisites": [1, "2", True, "x", None, 3.5]}, {1, 2}, "no"),
        ({"prerequisites": [-1, 2**31 - 1, 2**31, "2147483648", "9" * 5000, 2**70]}, {2**31 - 1}, "no"),
        ({"prerequisites": [1], "anonymize": True}, {1}, "yes"),
        ({"prerequisites": [1], "anonymize": "false"}, {1}, "yes"),
        ({"anonymize": "preview"}, set(), "preview"),
        ({"anonymize": False}, set(), "no"),
    ],
)
def test_requirements_are_read_as_ctfd_stores_them(
    requirements: dict[str, Any] | None, ids: set[int], anonymize: str
) -> None:
    assert prerequisites_of(requirements) == ids
    assert anonymize_of(requirements) == anonymize


def test_positions_come_first_and_zero_last() -> None:
    rows: list[tuple[int, int | None, int]] = [
        (0, 10, 1),
        (2, 5, 2),
        (1, 900, 3),
        (1, 100, 4),
        (0, None, 5),
        (0, 10, 0),
    ]
    assert [row[2] for row in sorted(rows, key=lambda row: order_key(*row))] == [4, 3, 2, 5, 0, 1]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("", "", True),
        ("crypt", "Web and Crypto", True),
        ("c%o", "crypto", True),
        ("o%c", "crypto", False),
        ("c_y", "crypto", True),
        ("c_p", "crypto", False),
        ("_", "", False),
        ("%%%", "", True),
        ("a%a", "a", False),
    ],
)
def test_search_finds_what_like_finds(pattern: str, text: str, *, found: bool) -> None:
    assert like(pattern, text) is found


@given(st.text("ab_%", max_size=8), st.text("abA", max_size=10))
def test_search_means_what_like_means(pattern: str, text: str) -> None:
    expression = pattern.replace("%", ".*").replace("_", ".")
    assert like(pattern, text) is (re.search(expression, text, re.IGNORECASE) is not None)


@pytest.mark.parametrize("pattern", ["_" * 8000 + "!", "%" * 8000 + "!", "e" + "_" * 8000 + "!", "e_" * 4000])
def test_no_pattern_of_a_players_takes_long(pattern: str) -> None:
    begun = time.perf_counter()
    assert not like(pattern, "the longest description there may be " * 1770)
    assert time.perf_counter() - begun < 1
