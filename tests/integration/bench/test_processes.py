"""Load, answers at a pace, and whole measurements, each in processes of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from sqlalchemy import create_engine, inspect, make_url, text

from bench import every
from bench.databases import one_of_its_own
from bench.goals import Goal
from bench.hose import Hose
from bench.hose import Order as Load
from bench.load import request
from bench.server import Server, cpu_seconds
from bench.spin import kept
from bench.steady import Order, Steady

ROOT = Path(__file__).parents[3]


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Server]:
    with Server([sys.executable, "-m", "bench.bare"], tmp_path / "bare.log") as server:
        yield server


def test_the_load_counts_whole_answers_and_costs_less_than_the_server(bare: Server) -> None:
    size = 300_000  # more than a socket holds at once
    before = cpu_seconds(bare.pid)
    with Hose(Load(bare.port, [request("GET", f"/{size}")] * 3, seconds=0.3, warm=0.05)) as hose:
        poured = hose.result()
    assert poured.answers > 0
    assert (poured.wrong, poured.size) == (0, size)
    assert 0 < poured.p50 <= poured.p99 < poured.seconds
    assert 0 < poured.cpu < cpu_seconds(bare.pid) - before


def test_the_load_counts_answers_that_are_no_good_ones(bare: Server) -> None:
    with Hose(Load(bare.port, [request("GET", "/no-number")], seconds=0.05, warm=0)) as hose:
        poured = hose.result()
    assert poured.wrong == poured.answers > 0


def test_nobody_there_is_no_load(bare: Server) -> None:
    bare.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="could not begin"), Hose(Load(bare.port, [b"GET"], seconds=1)):
        pass


def test_answers_at_a_pace_end_when_they_are_told_to(bare: Server) -> None:
    wanted = [request("GET", "/5")] * 1000
    with Steady(Order(bare.port, wanted, b"nothing of this", per_second=10)) as steady:
        told = steady.result()
    assert len(told.at) < 1000
    assert told.wrong == [b"xxxxx"] * min(3, len(told.at))


def test_answers_come_at_a_pace_beside_the_load(bare: Server) -> None:
    wanted = [request("GET", "/5")] * 3
    load = Load(bare.port, [request("GET", "/9")], seconds=0.2)
    with Steady(Order(bare.port, wanted, b"xxxxx", per_second=1000)) as steady:
        with Hose(load) as hose:
            assert hose.result().wrong == 0
        told = steady.result()
    assert len(told.at) == len(told.took) == len(told.late) == 3
    assert min(told.late) >= 0
    assert told.between(min(told.at), max(told.at) + 1) == 3
    assert told.wrong == []


@pytest.mark.parametrize("what", ["python", "copies"])
def test_a_process_keeps_some_of_its_rounds_beside_another(what: Literal["python", "copies"]) -> None:
    assert kept(what, 0.05) > 0


def test_an_sqlite_file_is_a_database_of_its_own(tmp_path: Path) -> None:
    with one_of_its_own(tmp_path, None, "one") as first, one_of_its_own(tmp_path, None, "two") as second:
        assert first != second


@pytest.mark.postgresql
def test_a_database_is_made_beside_the_one_that_is_named_and_dropped(postgresql_url: str, tmp_path: Path) -> None:
    engine = create_engine(postgresql_url)
    names = text("SELECT count(*) FROM pg_database")
    with engine.connect() as conn:
        before = conn.scalar(names)
    with one_of_its_own(tmp_path, postgresql_url, "one") as url:
        assert make_url(url).database != make_url(postgresql_url).database
        made = create_engine(url)
        assert inspect(made).get_table_names() == []
        made.dispose()
        with engine.connect() as conn:
            assert conn.scalar(names) == before + 1
    with engine.connect() as conn:
        assert conn.scalar(names) == before
    engine.dispose()


@pytest.fixture
def postgresql_url(request: pytest.FixtureRequest) -> str:
    server = request.getfixturevalue("postgresql")
    return str(server.url("postgres"))


def test_a_part_that_takes_too_long_is_ended_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(every, "PARTS", (every.Part("hills", ("hills",), limit=1),))
    (missed,) = every.measure(tmp_path / "out", None, "")
    assert missed == Goal("hills did not end within 1 s", 0, 1)
    assert "1 parts, at most 1 s in all" in capsys.readouterr().out
    assert (tmp_path / "out" / "goals.json").exists()


def test_a_part_that_fails_is_told_with_where_it_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(every, "PARTS", (every.Part("broken", ("hills", "--clients", "none"), limit=60),))
    (missed,) = every.measure(tmp_path / "out", None, "")
    assert missed.what == "broken has failed"
    assert str(tmp_path / "out" / "broken.log") in capsys.readouterr().out
    assert "invalid int value" in (tmp_path / "out" / "broken.log").read_text()
