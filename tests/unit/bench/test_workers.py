"""Two workers against one: what the cores had left decides."""

from __future__ import annotations

import pytest

from bench.workers import Slice, gain


def test_one_worker_can_use_one_core_and_two_what_the_load_leaves() -> None:
    one = Slice(workers=1, cores=2, answers=1000, seconds=1, server=1.0, load=0.2, others=0.1)
    two = Slice(workers=2, cores=2, answers=1600, seconds=1, server=1.6, load=0.3, others=0.1)
    assert one.left == 1
    assert two.left == pytest.approx(1.6)
    assert two.per_second == 1600
    assert two.per_cpu_second == pytest.approx(1000)
    assert two.load_each == pytest.approx(0.3 / 1600)
    got = gain([one], [two])
    assert got.raw == pytest.approx(1.6)
    assert got.fair == pytest.approx(2)
    assert got.per_cpu == pytest.approx(1)


def test_cores_that_a_worker_leaves_idle_count_against_it() -> None:
    one = Slice(workers=1, cores=4, answers=1000, seconds=1, server=1.0, load=0.2, others=0)
    two = Slice(workers=2, cores=4, answers=1000, seconds=1, server=1.0, load=0.2, others=0)
    assert two.left == 2
    assert gain([one], [two]).fair == pytest.approx(1)


def test_a_machine_that_others_use_up_leaves_a_little() -> None:
    assert Slice(workers=2, cores=2, answers=1, seconds=1, server=0.1, load=1, others=1.2).left > 0


def test_of_several_pairs_the_middle_one_is_told() -> None:
    ones = [Slice(1, 2, answers, 1, 1, 0, 0) for answers in (100, 100, 100)]
    twos = [Slice(2, 2, answers, 1, 2, 0, 0) for answers in (10, 180, 900)]
    assert gain(ones, twos).raw == pytest.approx(1.8)
