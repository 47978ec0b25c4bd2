"""What users and teams share when they are changed: in which order faults are told, and whose answers are whose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.accounts.fields_store import FieldFields, create_field
from ctfd_twisted.accounts.tables import field_entries
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_team, a_user

SignUp = Callable[..., Client]
OWN = {"user": "/api/v1/users/me", "team": "/api/v1/teams/me"}
KINDS = ["user", "team"]
#: Fields by what they are: seen by all, seen and changed by their owner, neither.
PUBLIC, EDITABLE, PRIVATE = 1, 2, 3


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform().setup("teams")
    yield platform
    platform.close()


@pytest.fixture
def captain(platform: MemoryPlatform, browser: SignUp) -> Client:
    """User 2 and captain of team 1, whose password is "team"; "taken" and its address are another's."""
    client = browser("captain")
    client.submit("/teams/new", name="T", password="team")

    def others(conn: Connection) -> None:
        a_user(conn, name="taken", email="taken@example.org")
        a_team(conn, name="taken", email="taken@example.org")
        touch(conn, EVERYTHING)

    platform.run(others)
    return client


@pytest.fixture
def fields(platform: MemoryPlatform, captain: Client) -> None:  # noqa: ARG001 - who was there before
    """Three fields of users, then three of teams, which those who are there have not answered."""

    def define(conn: Connection) -> None:
        for kind in KINDS:
            create_field(conn, FieldFields(name="public", type=kind, public=True, required=True))
            create_field(conn, FieldFields(name="editable", type=kind, editable=True))
            create_field(conn, FieldFields(name="private", type=kind))

    platform.run(define)


def numbers(kind: str) -> tuple[int, int, int]:
    """The ids of the public, the editable and the private field."""
    base = 0 if kind == "user" else 3
    return base + PUBLIC, base + EDITABLE, base + PRIVATE


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_players_faults_the_first_is_told_alone_and_those_of_form_together(captain: Client, kind: str) -> None:
    body: dict[str, Any] = {
        "bracket_id": 99,
        "captain_id": 99,
        "email": "taken@example.org",
        "fields": [{"value": "of no field"}],
        "name": "taken",
        "password": "new",
        "website": "nowhere",
        "country": "us",
        "affiliation": "x" * 129,
    }
    told: list[list[str]] = []
    mendings: list[dict[str, Any]] = [
        {},
        {"bracket_id": None},
        {"captain_id": 2},
        {"confirm": "secret"},
        {"email": "new@example.org"},
        {"fields": []},
        {"name": "new"},
        {"confirm": "secret"},
    ]
    for mending in mendings:
        body |= mending
        sent = {key: value for key, value in body.items() if kind == "team" or key != "captain_id"}
        errors = captain.patch(OWN[kind], sent).errors
        if not told or told[-1] != sorted(errors):
            told.append(sorted(errors))
    form = ["affiliation", "country", "website"]
    if kind == "user":
        assert told == [["bracket_id"], ["confirm"], ["email"], ["fields"], ["name"], form]
    else:
        assert told == [["bracket_id"], ["captain_id"], ["email"], ["fields"], ["name"], form]


@pytest.mark.parametrize("kind", KINDS)
def test_a_password_is_confirmed_after_the_name_and_before_the_form(captain: Client, kind: str) -> None:
    body = {"name": "taken", "password": "new", "country": "us"}
    assert list(captain.patch(OWN[kind], body).errors) == ["name"]
    assert list(captain.patch(OWN[kind], {**body, "name": "new"}).errors) == ["confirm"]
    assert list(captain.patch(OWN[kind], {**body, "name": "new", "confirm": "secret"}).errors) == ["country"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", ["/api/v1/{}s", "/api/v1/{}s/1"])
def test_an_administrators_faults_come_in_the_same_order(
    platform: MemoryPlatform, admin: Client, captain: Client, kind: str, path: str
) -> None:
    del platform, captain
    send = admin.post if path.endswith("s") else admin.patch
    body: dict[str, Any] = {
        "bracket_id": 99, "email": "taken@example.org", "fields": [{"field_id": "?"}], "name": "taken",
        "password": None, "website": "nowhere", "country": "us",
    }  # fmt: skip
    told = []
    mendings: list[dict[str, Any]] = [
        {}, {"bracket_id": None}, {"email": "new@example.org"}, {"fields": []}, {"name": "new"},
    ]  # fmt: skip
    for mending in mendings:
        body |= mending
        told.append(sorted(send(path.format(kind), body).errors))
    assert told == [["bracket_id"], ["email"], ["fields"], ["name"], ["country", "password", "website"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("fields")
def test_answers_are_shown_to_whom_they_are_for(
    platform: MemoryPlatform, admin: Client, captain: Client, kind: str
) -> None:
    public, editable, private = numbers(kind)
    number = 2 if kind == "user" else 1
    one, every = f"/api/v1/{kind}s/{number}", f"/api/v1/{kind}s"
    answers = [{"field_id": field, "value": f"answer {field}"} for field in (public, editable, private)]
    assert [entry["field_id"] for entry in admin.patch(one, {"fields": answers}).data["fields"]] == [
        public,
        editable,
        private,
    ]

    def seen(client: Client, path: str) -> set[int]:
        data = client.get(path, content_type="application/json").data
        rows = data if isinstance(data, list) else [data]
        return {entry["field_id"] for row in rows for entry in row["fields"]}

    other = platform.player("other")
    for client in (platform.client(), other, captain):
        assert seen(client, one) == seen(client, every) == {public}
    assert seen(captain, OWN[kind]) == {public, editable}
    assert seen(admin, one) == {public, editable, private}
    # The list of users is in the public view whoever asks, that of teams is not.
    assert seen(admin, every) == ({public} if kind == "user" else {public, editable, private})
    entry = captain.get(OWN[kind], content_type="application/json").data["fields"][0]
    assert entry == {
        "field_id": public, "value": f"answer {public}", "name": "public", "description": "", "type": "text",
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("fields")
def test_players_answer_within_the_rules_of_the_fields(platform: MemoryPlatform, captain: Client, kind: str) -> None:
    public, editable, _ = numbers(kind)

    def answer(field: int, value: object) -> Any:
        return captain.patch(OWN[kind], {"fields": [{"field_id": field, "value": value}]})

    assert answer(public, " ").errors == {"fields": ["Field 'public' is required"]}
    assert answer(public, "once").status == answer(editable, ["any", {"JSON": None}]).status == 200
    assert answer(public, "twice").errors == {"fields": ["Field 'public' cannot be editted"]}
    assert answer(editable, None).status == 200
    of_the_other_kind = numbers("team" if kind == "user" else "user")[0]
    assert answer(of_the_other_kind, "x").status == answer(99, "x").status == 404
    stored = platform.run(lambda conn: conn.execute(select(field_entries.c.field_id, field_entries.c.value)).all())
    assert sorted(tuple(row) for row in stored) == [(public, "once"), (editable, None)]


@pytest.mark.usefixtures("fields")
@pytest.mark.parametrize("kind", KINDS)
def test_administrators_answer_for_others_without_these_rules(admin: Client, kind: str) -> None:
    public = numbers(kind)[0]
    for value in ("first", "second", ""):
        body = {"fields": [{"field_id": str(public), "value": value}]}
        assert admin.patch(f"/api/v1/{kind}s/1", body).data["fields"][0]["value"] == value
    created = {"name": "new", "password": "p", "fields": [{"field_id": 99, "value": ""}]}
    assert admin.post(f"/api/v1/{kind}s", created).status == 404
