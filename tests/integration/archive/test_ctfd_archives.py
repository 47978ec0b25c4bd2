"""Claims about archives of events that CTFd 3.8.7 ran: ours say what its own say."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import pytest
from sqlalchemy import Engine, MetaData, create_engine, insert, select, text

from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.writing import add_uploads, write_tables
from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.migrate import migrate
from ctfd_twisted.db.migrations.ctfd_387 import schema
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.testing.archives import read_archive

DATA = Path(__file__).parents[2] / "data"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
#: CTFd does not note this on SQLite, but needs it to read the columns that are in the archive.
DYNAMIC = {"key": "dynamic_challenges_alembic_version", "value": "93284ed9c099"}


def exported(engines: Engines, uploads: Path) -> bytes:
    """The archive of a database, and of files in a folder."""
    file = io.BytesIO()
    with engines.reader() as conn, conn.begin():
        contents = write_tables(conn, NOW, file, Progress())
    add_uploads(file, contents, Disk(uploads).open, Progress())
    return file.getvalue()


class Event:
    """An event of CTFd's: its own archive, and a database of ours with the same rows."""

    def __init__(self, mode: str, engines: Engines, folder: Path) -> None:
        self.archive = DATA / f"ctfd-3.8.7-{mode}-export.zip"
        self.engines = engines
        with ZipFile(self.archive) as theirs:
            theirs.extractall(folder)
        self.uploads = folder / "uploads"


@pytest.fixture(params=["users", "teams"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def event(mode: str, empty_database_url: str, tmp_path: Path) -> Iterator[Event]:
    """CTFd's SQLite file as it was adopted, and a PostgreSQL database with the same rows."""
    source = tmp_path / "ctfd.sqlite"
    source.write_bytes((DATA / f"ctfd-3.8.7-{mode}.sqlite").read_bytes())
    url = f"sqlite:///{source}" if empty_database_url.startswith("sqlite") else empty_database_url
    engines = open_engines(url)
    if engines.dialect == "postgresql":
        with engines.write_engine.begin() as conn:
            schema.create_all(conn)
        _copy(create_engine(f"sqlite:///{source}"), engines.write_engine)
    migrate(engines.write_engine)
    yield Event(mode, engines, tmp_path)
    engines.close()


def _copy(source: Engine, target: Engine) -> None:
    theirs = MetaData()
    theirs.reflect(source)
    with source.connect() as reading, target.begin() as writing:
        writing.execute(text("SET session_replication_role = replica"))
        for table in schema.tables.values():
            rows = [dict(row._mapping) for row in reading.execute(select(theirs.tables[table.name]))]
            if rows:
                writing.execute(insert(table), rows)
    source.dispose()


def test_every_table_is_what_ctfd_wrote(event: Event) -> None:
    theirs = read_archive(event.archive.read_bytes())
    ours = read_archive(exported(event.engines, event.uploads))
    config = ours["db/config.json"]
    added = config["results"].pop()
    assert {name: added[name] for name in DYNAMIC} == DYNAMIC
    config["count"] -= 1
    assert {name: content for name, content in ours.items() if not name.startswith("ctfd-twisted/")} == theirs


def test_the_bytes_are_those_of_ctfd(event: Event) -> None:
    with ZipFile(event.archive) as theirs, ZipFile(io.BytesIO(exported(event.engines, event.uploads))) as ours:
        assert ours.testzip() is None
        assert {member.compress_type for member in ours.infolist()} == {ZIP_STORED}
        for name in set(theirs.namelist()) - {"db/config.json"}:
            assert ours.read(name) == theirs.read(name), name


def test_every_column_of_every_table_is_there(event: Event) -> None:
    archive = read_archive(exported(event.engines, event.uploads))
    for table in schema.tables.values():
        content = archive[f"db/{table.name}.json"]
        for row in [] if content is None else content["results"]:
            assert list(row) == [column.name for column in table.columns], table.name
    assert archive["db/alembic_version.json"]["results"] == [{"version_num": "8275865e5992"}]


def test_nothing_of_ours_is_where_ctfd_looks(event: Event) -> None:
    with ZipFile(io.BytesIO(exported(event.engines, event.uploads))) as ours:
        names = ours.namelist()
    assert {name for name in names if name.startswith("db/")} == {f"db/{name}.json" for name in schema.tables}
    assert {name.split("/")[0] for name in names} == {"db", "uploads", "ctfd-twisted"}


def test_no_row_of_an_adopted_event_is_missing(ctfd_event: Any, tmp_path: Path) -> None:
    engines = open_engines(ctfd_event.url)
    migrate(engines.write_engine)
    archive = read_archive(exported(engines, tmp_path))
    with engines.read_engine.connect() as conn:
        for table in schema.tables.values():
            count = conn.execute(text(f"SELECT count(*) FROM {table.name}")).scalar_one()  # noqa: S608 - one of CTFd's
            content = archive[f"db/{table.name}.json"]
            added = table.name == "config" and ctfd_event.url.startswith("sqlite")
            assert (content or {"count": 0})["count"] == count + added, table.name
            assert len((content or {"results": ()})["results"]) == count + added, table.name
    engines.close()
    (marked,) = [row for row in archive["db/config.json"]["results"] if row["key"] == DYNAMIC["key"]]
    assert marked["value"] == DYNAMIC["value"]
    assert len(archive["ctfd-twisted/manifest.json"]["missing"]) == 4
