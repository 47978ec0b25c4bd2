"""Claims about the rows of files on SQLite and PostgreSQL."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection

from ctfd_twisted.challenges.tables import solutions
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.files import loose, store
from ctfd_twisted.files.loose import COMING, Leftover
from ctfd_twisted.files.store import FileFilter, Found, Owner
from ctfd_twisted.testing.builders import a_challenge

SHA1 = "0" * 40
NOW = datetime(2026, 3, 14, 15, 0, tzinfo=UTC)


def test_files_come_are_found_and_go(any_conn: Connection) -> None:
    challenge = a_challenge(any_conn)
    solution = insert_row(any_conn, solutions, {"challenge_id": challenge, "state": "hidden"})
    (first,) = store.add_files(any_conn, Owner("challenge", challenge_id=challenge), [("a_b/x", SHA1)])
    (second,) = store.add_files(any_conn, Owner("solution", solution_id=solution), [("a_b/y", SHA1)])
    (again,) = store.add_files(any_conn, Owner("standard"), [("a_b/x", "1" * 40)])
    assert second["id"] != first["id"]
    assert again == {"id": first["id"], "type": "standard", "location": "a_b/x", "sha1sum": "1" * 40}
    assert store.find_file(any_conn, "a_b/x") == Found(first["id"], "standard", None)
    assert store.find_file(any_conn, "a_b/y") == Found(second["id"], "solution", challenge)
    assert store.list_files(any_conn, FileFilter(field="location", q="/y")) == [second]
    assert store.delete_file(any_conn, first["id"]) == ("a_b/x",)
    with pytest.raises(NotFound):
        store.find_file(any_conn, "a_b/x")


def test_a_directory_is_alone_only_where_no_row_names_it(any_conn: Connection) -> None:
    # An underscore stands for any letter in LIKE, and for itself in a location.
    store.add_files(any_conn, Owner("standard"), [("a_b/x", SHA1), ("axc/y", SHA1)])
    asked = ["a_b/x", "a_b/gone", "a_c/gone"]
    assert loose.leftovers(any_conn, asked) == (Leftover("a_b/gone", alone=False), Leftover("a_c/gone", alone=True))


def test_a_directory_is_not_alone_to_which_something_comes(any_conn: Connection) -> None:
    store.expect_files(any_conn, NOW, Owner("standard"), ["abc/x"])
    assert loose.leftovers(any_conn, ["abc/y"]) == (Leftover("abc/y", alone=False),)
    assert loose.leftovers(any_conn, ["abc/x"]) == (Leftover("abc/x", alone=True),)


@pytest.mark.parametrize("owner", [Owner("challenge", challenge_id=99), Owner("page", page_id=99)])
def test_nothing_comes_to_an_owner_that_is_none(any_conn: Connection, owner: Owner) -> None:
    with pytest.raises(Invalid):
        store.expect_files(any_conn, NOW, owner, ["abc/x"])
    with pytest.raises(Invalid):
        store.add_files(any_conn, owner, [("abc/x", SHA1)])
    assert store.list_files(any_conn, FileFilter()) == []


def test_what_comes_is_abandoned_when_nobody_brings_it(any_conn: Connection) -> None:
    store.expect_files(any_conn, NOW, Owner("standard"), ["abc/x", "abc/y", "abc/x"])
    assert loose.abandoned(any_conn, NOW + COMING, 10) == ()
    store.keep_files(any_conn, Owner("standard"), [("abc/x", SHA1)], ["abc/x"])
    late = NOW + COMING + timedelta(seconds=1)
    assert loose.abandoned(any_conn, late, 10) == ("abc/y",)
    loose.settle(any_conn, ["abc/y"])
    assert loose.abandoned(any_conn, late, 10) == ()


def test_what_is_deleted_is_abandoned_at_once(any_conn: Connection) -> None:
    # No B-tree of PostgreSQL takes so long a text.
    locations = ["abc/x", "y" * 10_000]
    for location in locations:
        (file,) = store.add_files(any_conn, Owner("standard"), [(location, SHA1)])
        store.delete_file(any_conn, file["id"])
    assert loose.abandoned(any_conn, NOW, 10) == tuple(locations)
    assert loose.abandoned(any_conn, NOW, 1) == ("abc/x",)
    # Unless it comes again.
    store.expect_files(any_conn, NOW, Owner("standard"), ["abc/x"])
    assert loose.abandoned(any_conn, NOW, 10) == tuple(locations[1:])
