"""The lines of the board are the JSON that they would be if they were encoded whole."""

from __future__ import annotations

import msgspec
import pytest

from ctfd_twisted.scoring.lines import Form, LineShown, Member, MemberShown, Places

NAMES = ["ann", "", '100 % "sure" %d {}\\', "Zoë\n\x00", "旗"]


class Account(msgspec.Struct, frozen=True):
    """As the database has it."""

    id: int
    name: str | None
    oauth_id: int | None = None
    bracket_id: int | None = None
    bracket_name: str | None = None


def shown(account: Account, score: int, members: list[MemberShown] | None) -> bytes:
    line: LineShown = {
        "pos": 1,
        "account_id": account.id,
        "account_url": f"/c%20tf/teams/{account.id}",
        "account_type": "team",
        "oauth_id": account.oauth_id,
        "name": account.name or "",
        "score": score,
        "bracket_id": account.bracket_id,
        "bracket_name": account.bracket_name,
    }
    if members is not None:
        line["members"] = members
    return msgspec.json.encode({"success": True, "data": [line]})


@pytest.mark.parametrize("name", [*NAMES, None])
def test_a_line_is_the_json_of_its_account(name: str | None) -> None:
    account = Account(7, name, 12, 3, "50 % off")
    members = [Member(number, None, one, None, None) for number, one in enumerate(NAMES, 20)]
    form = Form(account, members, "team", "/c%20tf")
    scores = [-5, 0, 10**12, 7, 8]
    told: list[MemberShown] = [
        {
            "id": one.id,
            "oauth_id": None,
            "name": one.name,
            "score": score,
            "bracket_id": None,
            "bracket_name": None,
        }
        for one, score in zip(members, scores, strict=True)
    ]
    assert form.members == (20, 21, 22, 23, 24)
    assert Places().body([form.line(1337, *scores).rest]) == shown(account, 1337, told)
    assert Places().body([Form(account, None, "team", "/c%20tf").line(-1).rest]) == shown(account, -1, None)
    assert Places().body([Form(account, [], "team", "/c%20tf").line(0).rest]) == shown(account, 0, [])


def test_a_mark_names_a_line() -> None:
    ann, ben = Account(1, "ann"), Account(1, "ben")
    forms = [Form(account, None, "user", "") for account in (ann, ben)]
    marks = {form.line(score).mark for form in forms for score in (0, 1, 10)}
    assert len(marks) == 6
    assert Form(ann, None, "user", "").line(10).mark in marks


def test_as_many_places_as_there_are_lines() -> None:
    places = Places()
    for count in (0, 3, 1, 5, 0):
        body = places.body([b'"score":%d}' % number for number in range(count)])
        data = [{"pos": number + 1, "score": number} for number in range(count)]
        assert msgspec.json.decode(body) == {"success": True, "data": data}
