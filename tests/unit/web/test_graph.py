"""The graph over the scoreboard."""

import re

from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.web.graph import HEIGHT, LEFT, WIDTH, score_graph

_SCORED = st.lists(st.tuples(st.integers(1, 10**9), st.integers(-500, 5000)), max_size=12).map(sorted)


def test_without_anything_to_draw_there_is_no_graph() -> None:
    assert score_graph([]) is None
    assert score_graph([("a", [])]) is None
    assert score_graph([("a", [(5, 100)])]) is None


def test_a_line_steps_up_at_every_solve() -> None:
    graph = score_graph([("a", [(0, 100), (100, 300)])])
    assert graph is not None
    assert graph.lines[0].path == "M56.0 252.0H56.0V192.0H956.0V12.0H956.0"
    assert [tick.text for tick in graph.ticks] == ["0", "100", "200", "300", "400"]


@given(st.lists(st.tuples(st.text(max_size=5), _SCORED), max_size=10))
def test_every_point_lies_inside_the_drawing(accounts: list[tuple[str, list[tuple[int, int]]]]) -> None:
    graph = score_graph(accounts)
    if graph is None:
        return
    assert len(graph.lines) == len(accounts)
    for line in graph.lines:
        assert all(LEFT <= float(x) <= WIDTH for x in re.findall(r"H([-\d.]+)", line.path))
        assert all(0 <= float(y) <= HEIGHT for y in re.findall(r"V([-\d.]+)", line.path))
