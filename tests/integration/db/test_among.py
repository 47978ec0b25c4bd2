"""A list as one parameter, on both databases."""

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.db.among import among
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.testing.builders import a_challenge

NAMED = select(challenges.c.id).where(among(challenges.c.id, "numbers")).order_by(challenges.c.id)
READY = Ready(NAMED)


@pytest.mark.parametrize("picked", [(), (0,), (0, 2), (0, 1, 2)])
def test_those_that_are_among_it_are_found(any_conn: Connection, picked: tuple[int, ...]) -> None:
    made = [a_challenge(any_conn) for _ in range(3)]
    numbers = [made[index] for index in picked]
    assert any_conn.execute(NAMED, {"numbers": numbers}).scalars().all() == numbers
    assert [row.id for row in READY.all(any_conn, {"numbers": (*numbers, -5)})] == numbers
