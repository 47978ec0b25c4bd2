"""The settings of the two built-in kinds, as CTFd's clients send and read them."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.challenges.kinds import DynamicChallenge, StandardChallenge
from ctfd_twisted.errors import Impossible
from ctfd_twisted.testing.builders import a_challenge

STANDARD, DYNAMIC = StandardChallenge(), DynamicChallenge()


def created(conn: Connection, now: datetime, kind: StandardChallenge | DynamicChallenge, **fields: Any) -> Any:
    challenge_id = a_challenge(conn, type=kind.id, value=fields.get("value"))
    kind.create(conn, now, challenge_id, fields)
    return kind.settings(conn, (challenge_id,))[challenge_id]


def settings(function: str, initial: int | None, minimum: int | None, decay: int | None) -> dict[str, Any]:
    return {"function": function, "initial": initial, "minimum": minimum, "decay": decay}


@pytest.mark.parametrize("function", [{}, {"function": None}, {"function": "static"}])
def test_a_standard_challenge_stands_still_and_shows_no_decay(
    conn: Connection, now: datetime, function: dict[str, Any]
) -> None:
    made = created(conn, now, STANDARD, value=100, initial=5, minimum=1, decay=2, **function)
    assert made == settings("static", None, None, None)
    assert STANDARD.value_after(made, 5) is None


def test_a_standard_challenge_may_decay_from_its_value(conn: Connection, now: datetime) -> None:
    made = created(conn, now, STANDARD, value=100, minimum=10, decay=5, function="linear")
    assert made == settings("linear", 100, 10, 5)
    assert STANDARD.value_after(made, 3) == 90


@pytest.mark.parametrize(
    ("fields", "lacking"),
    [
        ({}, "initial"),
        ({"value": 9}, "minimum"),
        ({"initial": 9, "decay": 1}, "minimum"),
        ({"initial": 9, "minimum": 0}, "decay"),
    ],
)
def test_a_decaying_function_needs_its_numbers(
    conn: Connection, now: datetime, fields: dict[str, Any], lacking: str
) -> None:
    with pytest.raises(Impossible) as error:
        created(conn, now, STANDARD, function="linear", **fields)
    assert error.value.errors == {"": [f"Missing '{lacking}' but function is linear"]}


def test_a_dynamic_challenge_needs_an_initial_value(conn: Connection, now: datetime) -> None:
    with pytest.raises(Impossible) as error:
        created(conn, now, DYNAMIC, value=100)
    assert error.value.errors == {"": ["Missing initial value for challenge"]}


def test_a_dynamic_challenge_without_a_function_has_defaults(conn: Connection, now: datetime) -> None:
    assert created(conn, now, DYNAMIC, initial=500) == settings("logarithmic", 500, 0, 1)


def test_a_dynamic_challenge_with_a_function_needs_the_rest(conn: Connection, now: datetime) -> None:
    with pytest.raises(Impossible, match="Missing 'minimum' but function is logarithmic"):
        created(conn, now, DYNAMIC, initial=500, function="logarithmic")


def test_a_decay_of_zero_is_stored_as_one(conn: Connection, now: datetime) -> None:
    assert created(conn, now, DYNAMIC, initial=500, minimum=100, decay=0, function="logarithmic")["decay"] == 1
    assert created(conn, now, STANDARD, initial=500, minimum=100, decay=0, function="logarithmic")["decay"] == 1
    assert created(conn, now, DYNAMIC, initial=500, minimum=100, decay=0, function="linear")["decay"] == 0


def test_an_unknown_function_of_a_dynamic_challenge_is_the_parabola(conn: Connection, now: datetime) -> None:
    made = created(conn, now, DYNAMIC, initial=500, minimum=100, decay=10, function="static")
    assert made["function"] == "static"
    assert DYNAMIC.value_after(made, 6) == 400


def test_an_update_is_partial(conn: Connection, now: datetime) -> None:
    challenge_id = a_challenge(conn, dynamic={})
    DYNAMIC.update(conn, now, challenge_id, {"minimum": 50, "function": "linear"})
    assert DYNAMIC.settings(conn, (challenge_id,)) == {challenge_id: settings("linear", 500, 50, 10)}
    standard = a_challenge(conn, function="linear", initial=9, minimum=1, decay=1)
    STANDARD.update(conn, now, standard, {"decay": 3})
    assert STANDARD.settings(conn, (standard,)) == {standard: settings("linear", 9, 1, 3)}
    STANDARD.update(conn, now, standard, {"function": "static", "decay": None})
    assert STANDARD.settings(conn, (standard,)) == {standard: settings("static", None, None, None)}


def test_null_is_no_number_of_a_dynamic_challenge(conn: Connection, now: datetime) -> None:
    challenge_id = a_challenge(conn, dynamic={})
    for name in ("initial", "minimum", "decay"):
        with pytest.raises(Impossible) as error:
            DYNAMIC.update(conn, now, challenge_id, {name: None})
        assert error.value.errors == {"": [f"Invalid input for '{name}'"]}


def test_a_standard_challenge_can_not_begin_to_decay_without_numbers(conn: Connection, now: datetime) -> None:
    challenge_id = a_challenge(conn, initial=9)
    with pytest.raises(Impossible, match="Missing 'minimum' but function is linear"):
        STANDARD.update(conn, now, challenge_id, {"function": "linear"})


def test_a_challenge_made_dynamic_keeps_its_value_until_it_has_an_initial_one(conn: Connection, now: datetime) -> None:
    challenge_id = a_challenge(conn, type="dynamic")
    DYNAMIC.update(conn, now, challenge_id, {"minimum": 3})
    assert DYNAMIC.settings(conn, (challenge_id,)) == {}
    DYNAMIC.update(conn, now, challenge_id, {"initial": 30})
    assert DYNAMIC.settings(conn, (challenge_id,)) == {challenge_id: settings("logarithmic", 30, 0, 1)}
