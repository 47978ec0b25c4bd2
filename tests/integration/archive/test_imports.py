"""Claims about imports: all of it or nothing, the same on both databases, and there and back again."""

from __future__ import annotations

import io
import json
from collections.abc import Coroutine, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from sqlalchemy import Boolean, Column, Connection, Float, Integer, LargeBinary, delete, func, insert, select, update

from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.tables import teams, tokens, users
from ctfd_twisted.accounts.tokens import HASHED, create_token, find_by_value
from ctfd_twisted.archive.importer import Importer
from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.reading import CannotImport
from ctfd_twisted.archive.report import Report
from ctfd_twisted.archive.store import ctfd_tables, own_tables
from ctfd_twisted.archive.writing import add_uploads, write_tables
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import ensure_secret, read_competition, read_secret, write_config
from ctfd_twisted.competition.tables import config, secrets
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import HEAD
from ctfd_twisted.db.notices import EVERYTHING, Bus
from ctfd_twisted.db.threads import in_thread
from ctfd_twisted.db.types import JSONObject, JSONValue, UTCDateTime
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.files.tables import loose
from ctfd_twisted.koth.tables import hills
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.store import recompute_values, standings
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.archives import read_archive
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_user

DATA = Path(__file__).parents[2] / "data"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
Members = dict[str, Any]


class Platform:
    """A database with a folder of files."""

    def __init__(self, url: str, folder: Path) -> None:
        self.db = Database(open_engines(url), Bus(), write=start_inline, read=start_inline)
        self.store = Disk(folder / "uploads")
        self._importer = Importer(self.db, in_thread(start_inline), self.store, folder / "data")

    def run(self, fn: Any, *args: Any) -> Any:
        return result_of(self.db.run(fn, *args))

    def import_(self, body: bytes) -> Report:
        return self._done(self._importer.run(NOW, io.BytesIO(body), Progress()))

    def try_out(self, body: bytes) -> Report:
        return self._done(self._importer.try_out(io.BytesIO(body), Progress()))

    def _done(self, work: Coroutine[Any, Any, Report]) -> Report:
        return result_of(work)

    def export(self) -> bytes:
        file = io.BytesIO()
        contents = result_of(self.db.read(write_tables, NOW, file, Progress()))
        add_uploads(file, contents, self.store.open, Progress())
        return file.getvalue()

    def content(self, location: str) -> bytes | None:
        found = self.store.open(location)
        if found is None:
            return None
        body = found.file.read(1 << 20)
        found.file.close()
        return body

    def board(self) -> list[tuple[int, str, int]]:
        def read(conn: Connection) -> list[tuple[int, str, int]]:
            return [(row.place, row.name, row.score) for row in standings(conn, read_competition(conn))]

        board: list[tuple[int, str, int]] = self.run(read)
        return board


@pytest.fixture
def platform(database_url: str, tmp_path: Path) -> Iterator[Platform]:
    opened = Platform(database_url, tmp_path)
    yield opened
    opened.db.close()


@pytest.fixture
def elsewhere(sqlite_template: Path, tmp_path: Path) -> Iterator[Platform]:
    """A second platform, on SQLite."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "platform.sqlite").write_bytes(sqlite_template.read_bytes())
    opened = Platform(f"sqlite:///{folder}/platform.sqlite", folder)
    yield opened
    opened.db.close()


def of_ctfd(mode: str) -> bytes:
    return (DATA / f"ctfd-3.8.7-{mode}-export.zip").read_bytes()


def contents(body: bytes) -> Members:
    """What an archive holds, but for when it was made."""
    members = read_archive(body)
    members.pop("ctfd-twisted/manifest.json", None)
    return members


def changed(body: bytes, **tables: Any) -> bytes:
    """An archive with other rows in some tables; ``None`` leaves one out."""
    file = io.BytesIO()
    with ZipFile(io.BytesIO(body)) as old, ZipFile(file, "w") as new:
        for name in old.namelist():
            table = name.removeprefix("db/").removesuffix(".json")
            rows = tables.pop(table, old)
            if rows is old:
                new.writestr(name, old.read(name))
            elif rows is not None:
                new.writestr(name, json.dumps({"count": len(rows), "results": rows, "meta": {}}))
        for table, rows in tables.items():
            new.writestr(f"db/{table}.json", json.dumps({"count": len(rows), "results": rows, "meta": {}}))
    return file.getvalue()


def rows_of(body: bytes, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_archive(body)[f"db/{table}.json"]["results"]
    return found


@pytest.mark.parametrize("mode", ["users", "teams"])
def test_an_event_of_ctfd_comes_in_and_goes_out_as_it_was(platform: Platform, mode: str) -> None:
    told = json.loads((DATA / f"ctfd-3.8.7-{mode}.json").read_text())
    report = platform.import_(of_ctfd(mode))
    theirs, ours = contents(of_ctfd(mode)), contents(platform.export())
    if mode == "users":
        # Two who had solved it were hidden and banned afterwards, and CTFd let the value be.
        assert report.notes == ["challenges.value: did not follow the solves that count, and does now"]
        theirs["db/challenges.json"]["results"][11]["value"] = 356
    else:
        assert report.notes == []
        assert [list(row) for row in platform.board()] == told["scoreboard"]
    assert report.uploads == 4
    # A token's value is not stored any more; and CTFd's mark of its columns is added.
    assert theirs.pop("db/tokens.json")["results"][0]["value"] == told["admin_token"]
    assert ours.pop("db/tokens.json")["results"][0]["value"] is None
    theirs.pop("db/config.json")
    ours.pop("db/config.json")
    assert {name: member for name, member in ours.items() if not name.startswith("ctfd-twisted/")} == theirs
    assert platform.run(find_by_value, told["admin_token"]).player.name == told["admin"][0]


def test_what_platforms_write_survives_from_one_database_to_the_other_and_back(
    platform: Platform, elsewhere: Platform
) -> None:
    platform.import_(of_ctfd("teams"))

    def play_on(conn: Connection) -> str:
        settings = {"url": "http://agent.example/status", "interval": 60, "reward": 7, "api_key": "k3y"}
        hill = a_challenge(conn, type="koth", requirements={"prerequisites": [1]})
        challenge_types()["koth"].create(conn, NOW, hill, settings)
        conn.execute(update(challenges).where(challenges.c.id == 1).values(next_id=hill))
        recompute_values(conn)
        return create_token(conn, NOW, 1, None, "for scripts")[1]

    token = platform.run(play_on)
    body = platform.export()
    assert elsewhere.import_(body).notes == []
    assert contents(elsewhere.export()) == contents(body)
    assert elsewhere.board() == platform.board() != []
    assert elsewhere.run(find_by_value, token).player.id == 1
    assert platform.import_(elsewhere.export()).notes == []
    assert contents(platform.export()) == contents(body)
    assert platform.run(lambda conn: conn.execute(select(hills.c.api_key)).scalar_one()) == "k3y"


def filled(conn: Connection) -> None:
    """A row in every table that an archive holds, with something in every column that may refer to rows before it."""
    tables = {table.name for table in (*ctfd_tables(), *own_tables())}
    conn.execute(delete(config))
    for table in metadata.sorted_tables:
        if table.name in tables:
            conn.execute(insert(table).values({column.name: something(column) for column in table.c}))
    conn.execute(update(teams).values(captain_id=1))
    conn.execute(update(challenges).values(next_id=1))


def something(column: Column[Any]) -> object:
    """A value that *column* takes; rows refer to the one row that there is."""
    if column.name in {"captain_id", "next_id"}:
        return None
    if column.table is tokens and column.name == "value":
        return HASHED + "0" * 64
    samples: list[tuple[type[Any], object]] = [
        *((JSONObject, {"prerequisites": [1]}), (JSONValue, [None, "\N{SNOWMAN}"]), (UTCDateTime, NOW)),
        *((Boolean, True), (Integer, 1), (Float, 1.5), (LargeBinary, b"\x00\xff")),
    ]
    value = next((value for kind, value in samples if isinstance(column.type, kind)), None)
    references = [key.column for key in column.foreign_keys]
    return something(references[0]) if references else "\N{SNOWMAN} text" if value is None else value


def test_every_column_of_every_table_survives(platform: Platform, elsewhere: Platform) -> None:
    platform.run(filled)
    archive = contents(platform.export())
    for table in (*ctfd_tables(), *own_tables()):
        folder = "ctfd-twisted/db" if table.name.startswith("ctfp_") else "db"
        row = archive[f"{folder}/{table.name}.json"]["results"][0]
        assert list(row) == [column.name for column in table.c]
        unsaid = {name for name, value in row.items() if value is None}
        assert unsaid <= ({"value"} if table is tokens else set()), table.name
    elsewhere.import_(platform.export())
    again = contents(elsewhere.export())
    del archive["db/config.json"], again["db/config.json"]
    assert again == archive


def test_ids_go_on_behind_those_of_the_archive(platform: Platform) -> None:
    platform.import_(of_ctfd("teams"))

    def next_id(conn: Connection) -> tuple[int, int, int]:
        highest = conn.execute(select(func.max(submissions.c.id))).scalar_one()
        return highest, a_solve(conn, a_challenge(conn), a_user(conn)), insert_row(conn, users, {"name": "new"})

    highest, solve, user = platform.run(next_id)
    assert (solve, user) == (highest + 1, 15)


def test_everything_that_was_there_is_gone(platform: Platform) -> None:
    def play(conn: Connection) -> None:
        write_config(conn, {"ctf_name": "Old", "setup": True, "own_setting": "x"})
        user = a_user(conn, id=4000)
        values = {"sid_hash": "5" * 64, "password_mac": "", "address": "", "user_agent": "", "user_id": user}
        conn.execute(insert(sessions).values(**values, created=NOW, expires=NOW, seen=NOW))
        challenge_types()["koth"].create(
            conn, NOW, a_challenge(conn, type="koth"), {"url": "http://a.example/", "interval": 60, "reward": 7}
        )

    platform.run(play)
    platform.import_(of_ctfd("users"))
    assert contents(platform.export())["ctfd-twisted/db/ctfp_hills.json"] is None

    def left(conn: Connection) -> tuple[Any, ...]:
        old = conn.execute(select(users.c.id).where(users.c.id == 4000)).first()
        return old, conn.execute(select(sessions)).first(), read_competition(conn).get("own_setting")

    assert platform.run(left) == (None, None, None)


def test_the_secrets_of_a_deployment_stay_where_an_archive_has_none(platform: Platform) -> None:
    def secret(conn: Connection) -> str | None:
        return read_secret(conn, "webhooks")

    platform.run(ensure_secret, "webhooks", lambda: "ours")
    ours = platform.export()
    platform.import_(of_ctfd("users"))
    assert platform.run(secret) == "ours"
    platform.run(lambda conn: conn.execute(update(secrets).values(value="newer")))
    platform.import_(ours)
    assert platform.run(secret) == "ours"


def test_one_of_two_uploads_for_a_place_comes_in(platform: Platform) -> None:
    location = rows_of(of_ctfd("users"), "files")[0]["location"]
    file = io.BytesIO()
    with ZipFile(io.BytesIO(platform.export())) as old, ZipFile(file, "w") as new:
        manifest = json.loads(old.read("ctfd-twisted/manifest.json"))
        manifest["apart"] = {"ctfd-twisted/uploads/1": location, "ctfd-twisted/uploads/2": "aa/b..txt"}
        for name in old.namelist():
            new.writestr(name, json.dumps(manifest) if name.endswith("manifest.json") else old.read(name))
        new.writestr(f"uploads/{location}", b"one")
        new.writestr("ctfd-twisted/uploads/1", b"two")
        new.writestr("ctfd-twisted/uploads/2", b"dots")
    report = platform.import_(file.getvalue())
    assert platform.content(location) == b"one"
    assert platform.content("aa/b..txt") == b"dots"
    assert "uploads: had no directory and name that files can have, and were left out" in report.notes


def test_whoever_holds_the_news_is_told(platform: Platform) -> None:
    heard: list[frozenset[str]] = []
    platform.db.bus.subscribe(heard.append)
    platform.import_(of_ctfd("users"))
    assert any(EVERYTHING in topics for topics in heard)


BROKEN: Mapping[str, Any] = {
    "two users of one address": {"users": [{"id": 1, "email": "a@example.org"}, {"id": 2, "email": "a@example.org"}]},
    "a row without an id": {"teams": [{"name": "nobody"}]},
    "an id twice": {"tags": [{"id": 1}, {"id": 1}]},
    "an unknown revision": {"alembic_version": [{"version_num": "123456789abc"}]},
}


@pytest.mark.parametrize("tables", BROKEN.values(), ids=BROKEN)
def test_an_import_that_fails_changes_nothing(platform: Platform, tables: Any) -> None:
    platform.import_(of_ctfd("teams"))
    before, files = platform.export(), sorted(platform.store.root.rglob("*"))
    broken = changed(of_ctfd("users"), **tables)
    for attempt in (platform.import_, platform.try_out):
        with pytest.raises(CannotImport):
            attempt(broken)
        assert contents(platform.export()) == contents(before)
    # What had been brought for it is written down as unwanted, and nothing else has come or gone.
    unwanted = platform.run(lambda conn: set(conn.execute(select(loose.c.location)).scalars()))
    came = {str(path.relative_to(platform.store.root)) for path in platform.store.root.rglob("*/*") if path.is_file()}
    assert (
        came - unwanted == {str(path.relative_to(platform.store.root)) for path in files if path.is_file()} - unwanted
    )


def test_a_trial_says_what_would_come_of_it(platform: Platform, tmp_path: Path) -> None:
    before = platform.export()
    trial = platform.try_out(of_ctfd("users"))
    assert contents(platform.export()) == contents(before)
    assert not (tmp_path / "uploads").exists()
    assert list((tmp_path / "data").iterdir()) == []
    report = platform.import_(of_ctfd("users"))
    assert (trial.lines(), trial.rows) == (report.lines(), report.rows)


def test_old_files_may_go_and_new_ones_are_there(platform: Platform) -> None:
    platform.import_(of_ctfd("users"))
    old = {row["location"] for row in rows_of(of_ctfd("users"), "files")}
    platform.import_(of_ctfd("teams"))
    new = {row["location"] for row in rows_of(of_ctfd("teams"), "files")}
    assert all(platform.content(location) for location in new)
    assert platform.run(lambda conn: set(conn.execute(select(loose.c.location)).scalars())) == old


def test_a_file_in_the_place_of_another_replaces_it(platform: Platform) -> None:
    platform.import_(of_ctfd("users"))
    location = rows_of(of_ctfd("users"), "files")[0]["location"]
    expected = platform.content(location)
    (platform.store.root / location).write_bytes(b"changed since")
    platform.import_(of_ctfd("users"))
    assert platform.content(location) == expected


def test_what_is_not_taken_as_it_stands_is_told(platform: Platform) -> None:
    body = changed(
        of_ctfd("users"),
        users=[
            {"id": 1, "name": "x" * 200, "type": "admin", "bracket": "old", "hidden": 1, "created": "yesterday"},
            {"id": 2, "name": "eve", "team_id": 9, "bracket_id": 77},
        ],
        teams=[{"id": 1, "name": "red", "captain_id": 99}],
        tags=[{"id": 1, "challenge_id": 999, "value": "lost"}],
        **{"plugin_notes": [{"id": 1}], "a\nb": []},
        submissions=None,
        solves=[{"id": 2, "challenge_id": 1, "user_id": 2, "team_id": None}],
    )
    report = platform.import_(body)
    assert platform.try_out(body).notes == report.notes
    told = set(report.notes)
    assert {
        "plugin_notes: is a table that is not known here, and was left out",
        "a?b: is a table that is not known here, and was left out",
        "users.name: was cut to 128 characters",
        "users.bracket: is no column here",
        "users.created: held what is no instant",
        "users.team_id: referred to nothing, and was emptied",
        "users.bracket_id: referred to nothing, and was emptied",
        "teams.captain_id: referred to nothing, and was emptied",
        "tags.challenge_id: referred to nothing, and the row was left out",
        "solves.id: referred to nothing, and the row was left out",
    } <= told
    assert (report.rows["users"], report.rows["tags"], report.rows["solves"]) == (2, 0, 0)


def test_uploads_and_rows_that_miss_each_other_are_kept_and_told(platform: Platform) -> None:
    body = changed(of_ctfd("users"), files=[{"id": 7, "type": "standard", "location": "aa/lost.txt"}])
    report = platform.import_(body)
    assert {"files: have no content in the archive or here", "uploads: belong to no file (4 times)"} <= set(
        report.notes
    )
    assert all(platform.content(row["location"]) for row in rows_of(of_ctfd("users"), "files"))
    assert rows_of(platform.export(), "files")[0]["location"] == "aa/lost.txt"


def test_a_competition_without_setup_or_theme_or_administrator_is_made_one(platform: Platform) -> None:
    settings = [{"id": 4, "key": "ctf_theme", "value": "hacker"}, {"id": 5, "key": "ctf_version", "value": "3.1.0"}]
    report = platform.import_(changed(of_ctfd("users"), config=settings, users=[{"id": 1, "type": "user"}]))
    competition = platform.run(read_competition)
    assert competition.is_set_up
    assert (competition.get("ctf_theme"), competition.get("ctf_version")) == ("core", "3.8.7")
    assert "users: nobody in the archive is an administrator" in report.notes
    assert "config.ctf_theme: hacker is not installed, and became core" in report.notes


def test_an_archive_of_the_first_ctfd_2_comes_in(platform: Platform) -> None:
    body = changed(
        of_ctfd("teams"),
        alembic_version=[{"version_num": "8369118943a1"}],
        teams=[{"id": 1, "name": "red"}],
        users=[
            {"id": 1, "name": "admin", "type": "admin"},
            {"id": 2, "name": "ada", "type": "user", "team_id": 1},
            {"id": 3, "name": "ben", "type": "user", "team_id": 1},
        ],
        challenges=[{"id": 1, "name": "easy", "value": 5, "type": "dynamic", "requirements": '{"prerequisites": [1]}'}],
        dynamic_challenge=[{"id": 1, "initial": 500, "minimum": 100, "decay": 5}],
        config=[{"id": 1, "key": "css", "value": "p{}"}, {"id": 2, "key": "setup", "value": "1"}],
        **dict.fromkeys(("submissions", "solves", "awards", "unlocks", "tags", "hints", "flags", "files", "tokens")),
        **dict.fromkeys(("brackets", "comments", "fields", "field_entries", "ratings", "solutions", "tracking")),
        **dict.fromkeys(("challenge_topics", "topics", "notifications", "pages")),
    )
    assert platform.import_(body).revision == "8369118943a1"
    archive = contents(platform.export())
    (team,) = archive["db/teams.json"]["results"]
    assert (team["captain_id"], team["hidden"]) == (2, False)
    (challenge,) = archive["db/challenges.json"]["results"]
    assert (challenge["state"], challenge["logic"], challenge["requirements"]) == (
        "visible",
        "any",
        {"prerequisites": [1]},
    )
    # Nobody has solved it, so it is worth what it began with.
    assert challenge["value"] == 500
    assert archive["db/dynamic_challenge.json"]["results"][0]["dynamic_function"] == "logarithmic"
    assert {row["key"]: row["value"] for row in archive["db/config.json"]["results"]}[
        "theme_header"
    ] == "<style>p{}</style>"


def test_an_archive_of_a_newer_platform_is_refused(platform: Platform) -> None:
    file = io.BytesIO()
    with ZipFile(io.BytesIO(platform.export())) as old, ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'"revision": "' + HEAD.encode(), b'"revision": "9999'))
    with pytest.raises(CannotImport, match="revision 9999; this one knows"):
        platform.import_(file.getvalue())


def test_tokens_whose_values_are_unknown_are_told(platform: Platform) -> None:
    platform.run(lambda conn: create_token(conn, NOW, a_user(conn, type="admin"), None, None))
    file = io.BytesIO()
    with ZipFile(io.BytesIO(platform.export())) as old, ZipFile(file, "w") as new:
        for name in old.namelist():
            if not name.startswith("ctfd-twisted/"):
                new.writestr(name, old.read(name))
    report = platform.import_(file.getvalue())
    assert "tokens: open nothing, since their values are unknown" in report.notes
    assert platform.run(lambda conn: conn.execute(select(tokens.c.value)).scalars().all()) == [None]
