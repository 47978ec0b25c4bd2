"""How stored settings are read, and what follows at an instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ctfd_twisted.competition.rules import Competition, read_value, write_value

T = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = int(T.timestamp())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (None, None),
        ("", None),
        ("005", 5),
        ("0", 0),
        ("-1", "-1"),
        ("1.5", "1.5"),
        (" 1", " 1"),
        ("TRUE", True),
        ("False", False),
        ("²", "²"),
        ("9" * 18, 999_999_999_999_999_999),
        ("9" * 5000, "9" * 5000),
        ("x", "x"),
    ],
)
def test_stored_text_is_read_as_ctfd_reads_it(text: str | None, value: object) -> None:
    assert read_value(text) == value


@pytest.mark.parametrize(
    ("value", "sqlite", "postgresql"),
    [(True, "1", "true"), (False, "0", "false"), (5, "5", "5"), ("x", "x", "x"), (None, None, None)],
)
def test_values_are_written_as_ctfd_writes_them(value: object, sqlite: str | None, postgresql: str | None) -> None:
    assert write_value(value, dialect="sqlite") == sqlite
    assert write_value(value, dialect="postgresql") == postgresql


def test_unset_keys_have_their_defaults() -> None:
    competition = Competition({"ctf_name": "", "user_mode": None})
    assert (competition.name, competition.mode, competition.teams) == ("CTFd", "users", False)
    assert competition.challenge_visibility == "private"
    assert competition.score_visibility == "public"
    assert not competition.is_set_up


def test_a_name_of_digits_is_a_name() -> None:
    assert Competition({"ctf_name": "2024"}).name == "2024"


@pytest.mark.parametrize(
    ("start", "end", "started", "running", "ended"),
    [
        (None, None, True, True, False),
        (EPOCH - 1, EPOCH + 1, True, True, False),
        (EPOCH, None, False, False, False),
        (EPOCH + 1, None, False, False, False),
        (None, EPOCH, True, False, False),
        (None, EPOCH - 1, True, False, True),
    ],
)
def test_the_bounds_are_strict(
    start: int | None, end: int | None, *, started: bool, running: bool, ended: bool
) -> None:
    stored = {"start": start and str(start), "end": end and str(end)}
    competition = Competition({key: value or None for key, value in stored.items()})
    assert (competition.started(T), competition.running(T), competition.ended(T)) == (started, running, ended)


@pytest.mark.parametrize("visibility", ["hidden", "nonsense"])
def test_an_unknown_visibility_shows_nothing(visibility: str) -> None:
    competition = Competition({"score_visibility": visibility})
    assert not competition.sees_scores(logged_in=True, is_admin=True)


def test_a_freeze_holds_from_its_instant_on() -> None:
    competition = Competition({"freeze": str(EPOCH + 5)})
    assert competition.frozen_at == datetime.fromtimestamp(EPOCH + 5, UTC)
    assert not competition.frozen(T)
    assert competition.frozen(T + timedelta(seconds=5))


def test_numbers_beyond_all_measure_still_mean_something() -> None:
    milliseconds = str(EPOCH * 1000)
    competition = Competition({"freeze": milliseconds, "end": milliseconds, "max_attempts_timeout": milliseconds})
    assert competition.frozen_at == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert (competition.running(T), competition.frozen(T)) == (True, False)
    assert T - timedelta(seconds=competition.integer("max_attempts_timeout", 300)) < T
    assert Competition({"max_attempts_timeout": "9" * 5000}).integer("max_attempts_timeout", 300) == 300
