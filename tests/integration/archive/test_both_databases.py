"""Claims about archives on SQLite and on PostgreSQL."""

from __future__ import annotations

import base64
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, insert, text

from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.tables import tokens, users
from ctfd_twisted.accounts.tokens import create_token
from ctfd_twisted.archive import store
from ctfd_twisted.archive.progress import Abandoned, Progress
from ctfd_twisted.archive.writing import add_uploads, write_tables
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.competition.store import ensure_secret, write_config
from ctfd_twisted.competition.tables import config
from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.migrate import HEAD
from ctfd_twisted.schema import metadata
from ctfd_twisted.testing.archives import read_archive
from ctfd_twisted.testing.builders import a_challenge, a_user
from ctfd_twisted.webhooks.tables import events

NOW = datetime(2026, 3, 14, 15, tzinfo=UTC)


def exported(conn: Connection) -> dict[str, Any]:
    """The archive of what *conn* sees, without uploads."""
    file = io.BytesIO()
    contents = write_tables(conn, NOW, file, Progress())
    add_uploads(file, contents, lambda _: None, Progress())
    return read_archive(file.getvalue())


def own(archive: dict[str, Any], table: str) -> list[dict[str, Any]]:
    content = archive[f"ctfd-twisted/db/{table}.json"]
    return [] if content is None else content["results"]


def test_what_ctfd_has_no_place_for_survives(any_conn: Connection) -> None:
    hill = a_challenge(any_conn, type="koth")
    settings = {"url": "http://agent.example/status", "interval": 60, "reward": 7, "api_key": "k3y"}
    challenge_types()["koth"].create(any_conn, NOW, hill, settings)
    ensure_secret(any_conn, "webhooks", lambda: "shared")
    any_conn.execute(insert(events).values(seq=1, event="user.created", body=b"\x00body\xff", created=NOW))
    archive = exported(any_conn)
    (found,) = own(archive, "ctfp_hills")
    assert (found["challenge_id"], found["api_key"], found["reward"]) == (hill, "k3y", 7)
    assert {"name": "webhooks", "value": "shared"} in own(archive, "ctfp_secrets")
    (event,) = own(archive, "ctfp_webhook_events")
    assert (base64.b64decode(event["body"]), event["created"]) == (b"\x00body\xff", "2026-03-14T15:00:00")
    told = archive["ctfd-twisted/manifest.json"]
    assert (told["format"], told["revision"], told["own"]["ctfp_hills"]) == (1, HEAD, 1)


def test_every_table_is_in_the_archive_or_left_out_on_purpose(any_conn: Connection) -> None:
    archive = exported(any_conn)
    theirs = {name for name in metadata.tables if not name.startswith("ctfp_")}
    ours = metadata.tables.keys() - theirs - store.LEFT_OUT
    assert archive.keys() == {
        *(f"db/{name}.json" for name in theirs),
        *(f"ctfd-twisted/db/{name}.json" for name in ours),
        *("ctfd-twisted/db/tokens.json", "ctfd-twisted/manifest.json"),
    }


def test_no_hash_of_a_token_opens_a_ctfd(any_conn: Connection) -> None:
    user = a_user(any_conn)
    token, _ = create_token(any_conn, NOW, user, None, "for scripts")
    clear = {"type": "user", "user_id": user, "created": NOW, "expiration": NOW, "description": None}
    any_conn.execute(insert(tokens).values(**clear, value="ctfd_clear"))
    archive = exported(any_conn)
    hashed, old = archive["db/tokens.json"]["results"]
    assert (hashed["id"], hashed["description"], hashed["value"]) == (token.id, "for scripts", None)
    assert old["value"] == "ctfd_clear"
    ((number, value),) = [(row["id"], row["value"]) for row in own(archive, "tokens")]
    assert (number, value.startswith("sha256$")) == (token.id, True)


def test_nobody_is_signed_in_by_an_archive(any_conn: Connection) -> None:
    values = {"sid_hash": "5" * 64, "password_mac": "", "address": "", "user_agent": "a browser of hers"}
    times = {"created": NOW, "expires": NOW + timedelta(days=1), "seen": NOW}
    any_conn.execute(insert(sessions).values(**values, **times, user_id=a_user(any_conn)))
    assert "a browser of hers" not in str(exported(any_conn))


def test_the_mark_of_dynamic_challenges_is_right(any_conn: Connection) -> None:
    key = "dynamic_challenges_alembic_version"
    for _ in range(2):
        rows = [row for row in exported(any_conn)["db/config.json"]["results"] if row["key"] == key]
        assert [row["value"] for row in rows] == ["93284ed9c099"]
        write_config(any_conn, {key: "b37fb68807ea"})
    numbers = [row["id"] for row in exported(any_conn)["db/config.json"]["results"]]
    assert len(set(numbers)) == len(numbers)
    any_conn.execute(config.delete())
    assert [row["id"] for row in exported(any_conn)["db/config.json"]["results"]] == [1]


def test_tables_of_others_are_told_and_left_where_they_are(any_conn: Connection) -> None:
    any_conn.execute(text("CREATE TABLE plugin_notes (id INTEGER)"))
    archive = exported(any_conn)
    assert archive["ctfd-twisted/manifest.json"]["foreign"] == ["plugin_notes"]
    assert "plugin_notes" not in " ".join(archive)


@pytest.mark.parametrize("number", [store.PAGE - 1, store.PAGE, store.PAGE + 1, 2 * store.PAGE])
def test_pages_of_rows_meet_without_a_gap(any_conn: Connection, number: int) -> None:
    any_conn.execute(insert(users), [{"name": f"player {n}", "email": f"{n}@example.org"} for n in range(number)])
    content = exported(any_conn)["db/users.json"]
    assert [row["name"] for row in content["results"]] == [f"player {n}" for n in range(number)]
    assert content["count"] == number


def test_an_archive_is_of_one_moment(engines: Engines) -> None:
    """Somebody writes between one table and the next."""

    def write(progress: Progress) -> None:
        with engines.write_engine.begin() as conn:
            a_challenge(conn, name=f"new at {progress.done}")
            a_user(conn, name=f"new at {progress.done}")

    with engines.write_engine.begin() as conn:
        conn.execute(insert(users), [{"name": f"player {n}"} for n in range(3)])
        a_challenge(conn)
    file = io.BytesIO()
    with engines.reader() as conn, conn.begin():
        contents = write_tables(conn, NOW, file, Progress(write))
    add_uploads(file, contents, lambda _: None, Progress())
    archive = read_archive(file.getvalue())
    assert {name: archive[f"db/{name}.json"]["count"] for name in ("users", "challenges")} == {
        "users": 3,
        "challenges": 1,
    }
    with engines.reader() as conn, conn.begin():
        assert exported(conn)["db/users.json"]["count"] > 3


def test_an_archive_that_nobody_wants_is_not_finished(any_conn: Connection) -> None:
    progress = Progress()
    progress.abandon()
    with pytest.raises(Abandoned):
        write_tables(any_conn, NOW, io.BytesIO(), progress)
