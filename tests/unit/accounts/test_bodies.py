"""What is read out of a body, and which faults of form are reported together."""

from __future__ import annotations

import pytest

from ctfd_twisted.accounts.bodies import (
    OwnUserBody,
    Sent,
    TeamBody,
    UserBody,
    check_form,
    field_values,
    team_faults,
    user_faults,
)
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.bodies import read_struct


def test_faults_of_form_are_reported_together() -> None:
    body = UserBody(name="", email="x", website="x", country="us", language="xx", type="boss")
    assert user_faults(body) == {
        "name": ["User names must not be empty"],
        "email": ["Emails must be a properly formatted email address"],
        "website": ["Websites must be a proper URL starting with http or https"],
        "country": ["Invalid Country"],
        "language": ["Invalid Language"],
        "type": ["Invalid user type"],
    }


def test_what_was_not_sent_has_no_faults() -> None:
    assert user_faults(UserBody()) == team_faults(TeamBody()) == {}


def test_a_team_needs_no_address() -> None:
    assert team_faults(TeamBody(email=None)) == team_faults(TeamBody(email="")) == {}
    assert team_faults(TeamBody(email="x")) == {"email": ["Emails must be a properly formatted email address"]}
    assert team_faults(TeamBody(name="x" * 129)) == {"name": ["Team names must not be empty"]}


def test_missing_keys_are_named_beside_other_faults_but_not_twice() -> None:
    sent = Sent(UserBody(country="us"), {"name": ["Not a valid string."]})
    with pytest.raises(Invalid) as raised:
        check_form(sent, user_faults(sent.body), required=("name", "password"))
    assert raised.value.errors == {
        "country": ["Invalid Country"],
        "name": ["Not a valid string."],
        "password": ["Missing data for required field."],
    }


def test_players_keys_do_not_hold_those_of_administrators() -> None:
    body = read_struct({"name": "x", "type": "boss", "banned": "?", "team_id": 3}, OwnUserBody)
    assert body.name == "x"
    assert not hasattr(body, "type")


def test_nulls_of_flags_are_let_in_and_those_of_names_are_not() -> None:
    assert read_struct({"hidden": None, "banned": "true", "verified": 1}, UserBody).banned is True
    with pytest.raises(Invalid) as raised:
        read_struct({"name": None, "password": None, "email": None}, UserBody)
    assert raised.value.errors == {key: ["Field may not be null."] for key in ("name", "password", "email")}


def test_answers_name_their_field_by_number_or_digits() -> None:
    values = field_values(
        UserBody(fields=[{"field_id": 1, "value": True}, {"field_id": "2", "value": "x"}, {"field_id": 3}])
    )
    assert [(value.field_id, value.value) for value in values] == [(1, True), (2, "x"), (3, None)]
    assert field_values(UserBody(fields=None)) == field_values(UserBody()) == ()


@pytest.mark.parametrize("element", [1, "x", {}, {"field_id": None}, {"field_id": True}, {"field_id": "x"}])
def test_what_is_no_answer_is_refused(element: object) -> None:
    with pytest.raises(Invalid):
        field_values(UserBody(fields=[element]))
