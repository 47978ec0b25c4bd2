"""What the column types store and read back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select, text
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.exc import StatementError

from ctfd_twisted.accounts.tables import field_entries, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.db.types import UTCDateTime

HERE = timezone(timedelta(hours=5, minutes=30))


def stored(conn: Connection, column: str) -> object:
    return conn.execute(text(f"SELECT {column} FROM users")).scalar_one()  # noqa: S608 - a word of this file


def a_challenge(conn: Connection, requirements: str | None) -> None:
    conn.execute(
        text(
            "INSERT INTO challenges (state, logic, position, requirements) VALUES ('visible', 'any', 0, :requirements)"
        ),
        {"requirements": requirements},
    )


def test_an_instant_is_stored_in_ctfds_text_format(conn: Connection) -> None:
    conn.execute(insert(users).values(created=datetime(2026, 3, 14, 20, 39, 26, 5, tzinfo=HERE)))
    assert stored(conn, "created") == "2026-03-14 15:09:26.000005"
    assert conn.execute(select(users.c.created)).scalar_one() == datetime(2026, 3, 14, 15, 9, 26, 5, tzinfo=UTC)


def test_whole_seconds_are_stored_with_microseconds_so_that_texts_compare_as_instants(conn: Connection) -> None:
    conn.execute(insert(users).values(created=datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)))
    assert stored(conn, "created") == "2026-03-14 15:09:26.000000"


def test_an_instant_without_a_zone_is_refused(conn: Connection) -> None:
    with pytest.raises(StatementError, match="has no time zone"):
        conn.execute(insert(users).values(created=datetime(2026, 3, 14)))  # noqa: DTZ001 - the mistake in question


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-03-14 15:09:26", datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)),
        ("2026-03-14T15:09:26.5", datetime(2026, 3, 14, 15, 9, 26, 500000, tzinfo=UTC)),
        ("2026-03-14 15:09:26+05:30", datetime(2026, 3, 14, 9, 39, 26, tzinfo=UTC)),
        ("2026-03-14", datetime(2026, 3, 14, tzinfo=UTC)),
        (None, None),
    ],
)
def test_an_instant_written_by_hand_is_understood(conn: Connection, written: str | None, read: datetime | None) -> None:
    conn.execute(text("INSERT INTO users (created) VALUES (:created)"), {"created": written})
    assert conn.execute(select(users.c.created)).scalar_one() == read


@given(st.datetimes(timezones=st.timezones()))
def test_an_instant_comes_back_as_it_went_in(instant: datetime) -> None:
    if not datetime(1, 1, 3, tzinfo=UTC) < instant.replace(tzinfo=UTC) < datetime(9999, 12, 29, tzinfo=UTC):
        return
    kind = UTCDateTime()
    assert kind.process_result_value(kind.process_bind_param(instant, dialect()), dialect()) == instant.astimezone(UTC)


def test_no_value_is_stored_as_null(conn: Connection) -> None:
    conn.execute(insert(challenges).values(state="visible", logic="any", position=0, requirements=None))
    assert conn.execute(text("SELECT requirements IS NULL FROM challenges")).scalar_one() == 1


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"prerequisites": [1]}', {"prerequisites": [1]}),
        ('"{\\"prerequisites\\": [1]}"', {"prerequisites": [1]}),
        ("null", None),
        ('"null"', None),
        ('"not JSON"', None),
        ("[1]", None),
        ("7", None),
        (None, None),
    ],
)
def test_requirements_read_as_an_object_or_as_nothing(
    conn: Connection, written: str | None, read: dict[str, list[int]] | None
) -> None:
    a_challenge(conn, written)
    assert conn.execute(select(challenges.c.requirements)).scalar_one() == read


@pytest.mark.parametrize("value", ["School 0", "7", "null", "", True, False, None, 7])
def test_the_value_of_a_field_comes_back_as_it_went_in(conn: Connection, value: str | bool | int | None) -> None:  # noqa: FBT001 - a value
    conn.execute(insert(field_entries).values(value=value))
    read = conn.execute(select(field_entries.c.value)).scalar_one()
    assert (read, type(read)) == (value, type(value))


def test_a_json_null_reads_as_no_value(conn: Connection) -> None:
    conn.execute(text("INSERT INTO field_entries (value) VALUES ('null')"))
    assert conn.execute(select(field_entries.c.value)).scalar_one() is None
