"""Claims about the rows of files on SQLite and PostgreSQL."""

import pytest
from sqlalchemy import Connection

from ctfd_twisted.challenges.tables import solutions
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.files import store
from ctfd_twisted.files.store import FileFilter, Found, Leftover, Owner
from ctfd_twisted.testing.builders import a_challenge

SHA1 = "0" * 40


def test_files_come_are_found_and_go(any_conn: Connection) -> None:
    challenge = a_challenge(any_conn)
    solution = insert_row(any_conn, solutions, {"challenge_id": challenge, "state": "hidden"})
    (first,) = store.add_files(any_conn, Owner("challenge", challenge_id=challenge), [("a_b/x", SHA1)])
    (second,) = store.add_files(any_conn, Owner("solution", solution_id=solution), [("a_b/y", SHA1)])
    (again,) = store.add_files(any_conn, Owner("standard"), [("a_b/x", "1" * 40)])
    assert (first.new, second.new, again.new) == (True, True, False)
    assert again.shown == {"id": first.shown["id"], "type": "standard", "location": "a_b/x", "sha1sum": "1" * 40}
    assert store.find_file(any_conn, "a_b/x") == Found(first.shown["id"], "standard", None)
    assert store.find_file(any_conn, "a_b/y") == Found(second.shown["id"], "solution", challenge)
    assert store.list_files(any_conn, FileFilter(field="location", q="/y")) == [second.shown]
    assert store.delete_file(any_conn, first.shown["id"]) == "a_b/x"
    with pytest.raises(NotFound):
        store.find_file(any_conn, "a_b/x")


def test_a_directory_is_alone_only_where_no_row_names_it(any_conn: Connection) -> None:
    # An underscore stands for any letter in LIKE, and for itself in a location.
    store.add_files(any_conn, Owner("standard"), [("a_b/x", SHA1), ("axc/y", SHA1)])
    asked = ["a_b/x", "a_b/gone", "a_c/gone"]
    assert store.leftovers(any_conn, asked) == (Leftover("a_b/gone", alone=False), Leftover("a_c/gone", alone=True))


@pytest.mark.parametrize("owner", [Owner("challenge", challenge_id=99), Owner("page", page_id=99)])
def test_nothing_comes_to_an_owner_that_is_none(any_conn: Connection, owner: Owner) -> None:
    with pytest.raises(Invalid):
        store.add_files(any_conn, owner, [("abc/x", SHA1)])
    assert store.list_files(any_conn, FileFilter()) == []
