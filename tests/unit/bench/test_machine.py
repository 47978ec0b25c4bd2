"""What ``/proc`` tells of processors and processes."""

from __future__ import annotations

import os

import pytest

from bench.machine import busy_of, busy_seconds, cores, family, family_in, parent_of

STAT = "cpu  100 20 30 9000 500 4 5 6 50 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"


def test_idle_processors_and_those_that_wait_for_a_disk_are_not_busy() -> None:
    assert busy_of(STAT, 100) == pytest.approx(1.65)


def test_a_family_is_a_process_and_all_that_come_of_it() -> None:
    parents = [(2, 1), (3, 2), (4, 2), (5, 4), (6, 1), (7, 6)]
    assert sorted(family_in(2, parents)) == [2, 3, 4, 5]
    assert family_in(7, parents) == [7]
    assert family_in(99, parents) == [99]


@pytest.mark.parametrize("name", ["twistd", "a (strange) name", ") 9 9 9"])
def test_a_parent_is_found_whatever_the_process_is_called(name: str) -> None:
    assert parent_of(f"77 ({name}) S 42 77 77 0 -1") == 42


def test_this_machine_tells_it_too() -> None:
    assert cores() >= 1
    assert busy_seconds() > 0
    assert os.getpid() in family(os.getppid())
