"""A hill's settings: what is accepted, and the message for each field that is not."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.errors import Invalid
from ctfd_twisted.koth.settings import HillSettings, read_settings
from ctfd_twisted.koth.settings_shown import readout

LEAST = {"url": "http://10.0.0.9:31337/status", "interval": 60, "reward": 10}
PEM = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"


def errors_of(fields: dict[str, object], present: HillSettings | None = None) -> dict[str, list[str] | str]:
    with pytest.raises(Invalid) as raised:
        read_settings(fields, present)
    return raised.value.errors


def test_the_three_required_fields_are_enough() -> None:
    settings = read_settings(LEAST)
    assert (settings.url, settings.interval, settings.reward) == ("http://10.0.0.9:31337/status", 60, 10)
    assert settings.seconds == 5
    assert not settings.health_gate
    assert (settings.jitter, settings.confirm_ticks, settings.hold_bonus) == (0, 1, 0)


def test_each_missing_required_field_is_named() -> None:
    assert errors_of({}) == {name: ["Missing data for required field."] for name in ("url", "interval", "reward")}


def test_what_is_no_setting_of_a_hill_is_left_alone() -> None:
    assert read_settings({**LEAST, "name": 5, "value": "x", "state": None}) == read_settings(LEAST)


def test_every_wrong_field_has_a_message_of_its_own() -> None:
    errors = errors_of(
        {
            "url": "ftp://h/",
            "interval": 0,
            "reward": "many",
            "api_key": "a\nb",
            "tls_certificate": "no",
            "client_certificate": 7,
            "timeout": "soon",
            "health_gate": "perhaps",
            "jitter": -1,
            "confirm_ticks": 0,
            "hold_bonus": -1,
            "target_url": "x",
            "reset_url": "x",
            "reset_every": 0,
        }
    )
    assert errors.keys() == {
        *("url", "interval", "reward", "api_key", "tls_certificate", "client_certificate", "timeout", "health_gate"),
        *("jitter", "confirm_ticks", "hold_bonus", "target_url", "reset_url", "reset_every"),
    }
    assert all(isinstance(messages, list) and len(messages) == 1 for messages in errors.values())


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"interval": 86_401}, "interval"),
        ({"interval": True}, "interval"),
        ({"interval": None}, "interval"),
        ({"interval": ""}, "interval"),
        ({"interval": float("nan")}, "interval"),
        ({"interval": "9" * 5000}, "interval"),
        ({"reward": 1_000_001}, "reward"),
        ({"reward": 0}, "reward"),
        ({"timeout": 61}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"jitter": 30.5}, "jitter"),
        ({"tls_certificate": PEM}, "tls_certificate"),
        ({"url": "https://h/", "client_certificate": PEM}, "client_key"),
        ({"url": "https://h/", "client_key": PEM}, "client_certificate"),
        ({"reset_every": 5}, "reset_url"),
    ],
)
def test_a_value_out_of_its_bounds_is_refused(fields: dict[str, object], field: str) -> None:
    assert list(errors_of({**LEAST, **fields})) == [field]


def test_numbers_and_truth_may_come_as_text_because_forms_send_them_so() -> None:
    fields = {**LEAST, "interval": "30", "reward": "5", "timeout": "2.5", "health_gate": "true", "jitter": "15"}
    settings = read_settings(fields)
    assert (settings.interval, settings.reward, settings.timeout) == (30, 5, 2.5)
    assert settings.health_gate
    assert settings.jitter == 15


def test_null_and_empty_text_bring_an_optional_field_back_to_its_default() -> None:
    present = read_settings({**LEAST, "api_key": "k", "timeout": 9, "hold_bonus": 3})
    after = read_settings({"api_key": "", "timeout": None, "hold_bonus": None}, present)
    assert after == read_settings(LEAST)


def test_a_change_keeps_what_it_does_not_name() -> None:
    present = read_settings({**LEAST, "api_key": "k", "health_gate": True})
    assert read_settings({"reward": 20}, present) == msgspec.structs.replace(present, reward=20)


def test_the_default_timeout_follows_a_short_interval() -> None:
    assert read_settings({**LEAST, "interval": 2}).seconds == 2
    assert readout(read_settings({**LEAST, "interval": 2}))["timeout"] == 2


def test_shortening_the_interval_below_a_chosen_timeout_is_refused() -> None:
    present = read_settings({**LEAST, "timeout": 20})
    assert list(errors_of({"interval": 10}, present)) == ["timeout"]


@given(
    interval=st.integers(1, 86_400),
    reward=st.integers(1, 1_000_000),
    part=st.floats(0, 1),
    confirm=st.integers(1, 10_000),
)
def test_what_is_shown_can_be_given_again(interval: int, reward: int, part: float, confirm: int) -> None:
    fields = {**LEAST, "interval": interval, "reward": reward, "confirm_ticks": confirm, "jitter": part * interval / 2}
    settings = read_settings(fields)
    again = read_settings(readout(settings))
    assert readout(again) == readout(settings)
