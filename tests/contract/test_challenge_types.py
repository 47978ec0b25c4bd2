"""What every kind of challenge must hold to, the built-in ones and those of plug-ins alike."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, select
from twisted.plugin import IPlugin
from zope.interface.verify import verifyObject

from ctfd_twisted.challenges.forms import FormField, form_html
from ctfd_twisted.challenges.judging import Flag, Partial, Trial, Verdict
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import DomainError
from ctfd_twisted.interfaces import IChallengeType
from ctfd_twisted.testing.builders import a_challenge

PAGES = {"create", "update", "view"}

#: The smallest body that makes a challenge of each kind. A kind of your own needs an entry where its settings have no
#: defaults.
SMALLEST: Mapping[str, dict[str, Any]] = {
    "standard": {"value": 100},
    "dynamic": {"initial": 500},
    "koth": {"url": "http://198.51.100.7:31337/status", "interval": 60, "reward": 10},
}
#: What the detail of every challenge has already.
COMMON = {"id", "name", "value", "description", "category", "state", "type", "type_data", "solves", "hints", "files"}


@pytest.fixture(params=sorted(challenge_types()))
def kind(request: pytest.FixtureRequest) -> IChallengeType:
    """Each registered kind in turn."""
    return challenge_types()[request.param]


@pytest.fixture
def smallest(kind: IChallengeType) -> dict[str, Any]:
    """The smallest body for this kind."""
    return SMALLEST.get(kind.id, {})


@pytest.fixture
def made(conn: Connection, now: datetime, kind: IChallengeType, smallest: dict[str, Any]) -> int:
    """A challenge of this kind; its id."""
    challenge_id = a_challenge(conn, type=kind.id, function=kind.default_function, value=smallest.get("value"))
    kind.create(conn, now, challenge_id, smallest)
    return challenge_id


def test_it_is_a_plug_in_that_provides_the_interface(kind: IChallengeType) -> None:
    verifyObject(IPlugin, kind)
    verifyObject(IChallengeType, kind)


def test_it_is_named(kind: IChallengeType) -> None:
    assert kind.id
    assert len(kind.id) <= 80
    assert kind.name
    assert challenge_types()[kind.id] is kind


def test_it_names_a_page_and_a_script_for_each_purpose(kind: IChallengeType) -> None:
    for paths in (kind.templates, kind.scripts):
        assert set(paths) == PAGES
        assert all(path.startswith("/") for path in paths.values())


def test_its_form_can_be_drawn(kind: IChallengeType) -> None:
    assert all(isinstance(field, FormField) for field in kind.form_fields)
    names = [field.name for field in kind.form_fields]
    assert len(set(names)) == len(names)
    html = form_html(kind.form_fields)
    assert all(f'name="{name}"' in html for name in names)


def test_its_value_function_is_one_that_clients_know(kind: IChallengeType) -> None:
    assert kind.default_function in {"static", "linear", "logarithmic"}


def test_what_was_stored_reads_back_as_json(conn: Connection, kind: IChallengeType, made: int) -> None:
    settings = kind.settings(conn, (made,))
    assert set(settings) == {made}
    assert msgspec.json.decode(msgspec.json.encode(settings[made])) == settings[made]


def test_the_form_asks_for_what_the_smallest_body_needs(kind: IChallengeType, smallest: dict[str, Any]) -> None:
    assert {field.name for field in kind.form_fields if field.required} <= set(smallest)


def test_a_challenge_without_settings_is_absent(conn: Connection, kind: IChallengeType) -> None:
    assert kind.settings(conn, ()) == {}
    assert kind.settings(conn, (1_000_000,)) == {}


def test_an_update_that_names_nothing_changes_nothing(
    conn: Connection, now: datetime, kind: IChallengeType, made: int
) -> None:
    before = kind.settings(conn, (made,)), conn.execute(select(challenges)).all()
    kind.update(conn, now, made, {"name": "another", "unknown": [1]})
    assert (kind.settings(conn, (made,)), conn.execute(select(challenges)).all()) == before


def test_an_update_with_all_its_settings_changes_nothing(
    conn: Connection, now: datetime, kind: IChallengeType, made: int
) -> None:
    before = kind.settings(conn, (made,))
    kind.update(conn, now, made, before[made])
    assert kind.settings(conn, (made,)) == before


def test_a_challenge_that_was_of_another_type_can_be_updated(
    conn: Connection, now: datetime, kind: IChallengeType, smallest: dict[str, Any]
) -> None:
    challenge_id = a_challenge(conn, type=kind.id)
    kind.update(conn, now, challenge_id, smallest)
    assert set(kind.settings(conn, (challenge_id,))) == {challenge_id}


def test_a_required_setting_is_asked_for_and_nothing_is_stored(
    conn: Connection, now: datetime, kind: IChallengeType, smallest: dict[str, Any]
) -> None:
    for field in kind.form_fields:
        if field.required:
            challenge_id = a_challenge(conn, type=kind.id)
            lacking = {name: value for name, value in smallest.items() if name != field.name}
            with pytest.raises(DomainError):
                kind.create(conn, now, challenge_id, lacking)
            assert kind.settings(conn, (challenge_id,)) == {}


def test_its_value_is_a_number_that_never_rises_or_stands_still(
    conn: Connection, kind: IChallengeType, made: int
) -> None:
    settings = kind.settings(conn, (made,))[made]
    values = [kind.value_after(settings, solves) for solves in (0, 1, 2, 3, 10, 100, 100_000)]
    if None in values:
        assert set(values) == {None}
        return
    numbers = [value for value in values if value is not None]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] == numbers[1], "the first solver earns the full value"


@pytest.mark.parametrize("logic", ["any", "all", "team"])
@pytest.mark.parametrize("submission", ["", "x", "flag{right}", "\x00\ud800", "a" * 100_000])
@pytest.mark.parametrize("flags", [(), (Flag(1, "static", "flag{right}", ""), Flag(2, None, None, None))])
def test_any_answer_gets_a_verdict(kind: IChallengeType, logic: str, submission: str, flags: tuple[Flag, ...]) -> None:
    trial = Trial(submission, flags, logic, (Partial(1, submission),), 1, frozenset({1, 2}))
    verdict = kind.judge(trial)
    assert isinstance(verdict, Verdict)
    assert verdict.status in {"correct", "partial", "incorrect"}
    assert verdict.message
    assert kind.judge(trial) == verdict


def test_what_it_adds_for_players_hides_nothing_common(
    conn: Connection, now: datetime, kind: IChallengeType, made: int
) -> None:
    added = kind.player_detail(conn, now, Competition({}), None, made)
    assert not COMMON & set(added)
    assert kind.adds_detail or added == {}
    msgspec.json.encode(added)
