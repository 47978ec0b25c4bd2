"""Whom an identifier stands for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.koth.identifiers import (
    DEFAULT_WAYS,
    WAYS,
    Directory,
    Kind,
    Match,
    Person,
    Way,
    allowed_ways,
    hill_token,
)

SECRET = "s" * 64
ADA, BOB, EVE = Person(1, "Ada", "ada@example.org"), Person(2, "bob"), Person(17, "eve")
RED, BLUE = Person(1, "Red"), Person(2, "Blue")
ALL = frozenset(WAYS)


def users(*people: Person, ways: frozenset[Way] = ALL) -> Directory:
    return Directory(people or (ADA, BOB, EVE), None, ways, SECRET)


def teams(*people: Person, ways: frozenset[Way] = ALL) -> Directory:
    return Directory(people or (ADA, BOB, EVE), (RED, BLUE), ways, SECRET)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (hill_token(SECRET, "user", 2), Match("user", 2, "token")),
        ("Ada", Match("user", 1, "name")),
        ("ADA", Match("user", 1, "name")),
        ("ada@EXAMPLE.org", Match("user", 1, "email")),
        ("17", Match("user", 17, "id")),
        ("017", None),
        ("18", None),
        ("9" * 5000, None),
        ("", None),
        ("nobody", None),
        (hill_token("another secret", "user", 2), None),
        (hill_token(SECRET, "user", 3), None),
        (hill_token(SECRET, "team", 1), None),
    ],
)
def test_where_users_play(text: str, match: Match | None) -> None:
    assert users().find(text) == match


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (hill_token(SECRET, "team", 2), Match("team", 2, "token")),
        (hill_token(SECRET, "user", 2), Match("user", 2, "token")),
        ("Red", Match("team", 1, "name")),
        ("blue", Match("team", 2, "name")),
        ("bob", Match("user", 2, "name")),
        ("2", Match("team", 2, "id")),
        ("17", None),
    ],
)
def test_where_teams_play_a_users_token_or_name_stands_for_the_team(text: str, match: Match | None) -> None:
    assert teams().find(text) == match


def test_a_token_comes_before_a_name_and_a_name_before_an_id() -> None:
    token = hill_token(SECRET, "user", 1)
    directory = users(Person(1, "x"), Person(2, token), Person(3, "1"))
    assert directory.find(token) == Match("user", 1, "token")
    assert directory.find("1") == Match("user", 3, "name")


def test_the_exact_name_comes_before_one_in_another_case() -> None:
    directory = users(Person(1, "Ada"), Person(2, "ada"))
    assert directory.find("ada") == Match("user", 2, "name")
    assert directory.find("Ada") == Match("user", 1, "name")
    assert directory.find("ADA") is None, "two accounts fold to it, so it is nobody's"


def test_a_name_that_two_old_accounts_share_is_nobodys() -> None:
    assert users(Person(1, "twin"), Person(2, "twin")).find("twin") is None


def test_folding_is_not_limited_to_ascii() -> None:
    assert users(Person(1, "ÉMILE")).find("émile") == Match("user", 1, "name")


def test_a_teams_own_name_comes_before_a_members() -> None:
    directory = Directory((Person(1, "Red"),), (Person(9, "Red"),), ALL, SECRET)
    assert directory.find("Red") == Match("team", 9, "name")


def test_an_address_counts_only_where_it_is_allowed() -> None:
    assert users(ways=DEFAULT_WAYS).find("ada@example.org") is None


@pytest.mark.parametrize("way", WAYS)
def test_only_the_allowed_ways_count(way: Way) -> None:
    texts = {"token": hill_token(SECRET, "user", 1), "name": "Ada", "email": "ada@example.org", "id": "1"}
    directory = users(ways=frozenset({way}))
    assert [name for name, text in texts.items() if directory.find(text)] == [way]


@pytest.mark.parametrize(
    ("setting", "ways"),
    [
        ("", {"token", "name", "id"}),
        ("token", {"token"}),
        (" Token , EMAIL,", {"token", "email"}),
        ("name,colour", {"name"}),
        ("colour", {"token", "name", "id"}),
    ],
)
def test_the_setting_names_the_ways(setting: str, ways: set[Way]) -> None:
    assert allowed_ways(setting) == ways


@given(st.integers(1, 2**31 - 1), st.sampled_from(["user", "team"]))
def test_tokens_are_long_and_differ_by_account(account_id: int, kind: Kind) -> None:
    token = hill_token(SECRET, kind, account_id)
    assert len(token.rpartition("-")[2]) >= 20
    assert token == hill_token(SECRET, kind, account_id)
    assert token != hill_token(SECRET, kind, account_id + 1)
    assert token != hill_token(SECRET, "team" if kind == "user" else "user", account_id)


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=1, max_size=8))
def test_nothing_that_an_agent_says_breaks_the_search(text: str, names: list[str]) -> None:
    directory = users(*(Person(number, name) for number, name in enumerate(names, 1)))
    match = directory.find(text)
    assert match is None or 1 <= match.id <= len(names)


@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda name: name == name.strip()), unique=True, max_size=8))
def test_an_exact_name_is_always_its_own_accounts(names: list[str]) -> None:
    directory = users(*(Person(number, name) for number, name in enumerate(names, 1)), ways=frozenset({"name"}))
    for number, name in enumerate(names, 1):
        assert directory.find(name) == Match("user", number, "name")
