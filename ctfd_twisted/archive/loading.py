"""The rows of an archive in place of those of the database, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeVar

from sqlalchemy import (
    Boolean,
    Connection,
    DateTime,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    Table,
    bindparam,
    delete,
    func,
    select,
    text,
    update,
)
from sqlalchemy import Column as SQLColumn
from sqlalchemy.exc import IntegrityError

from ctfd_twisted.accounts.tables import teams, tokens, users
from ctfd_twisted.accounts.tokens import HASHED, digest_of
from ctfd_twisted.archive.fitting import Column, Kind, fitted, upgraded
from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.reading import Archive, CannotImport, Row
from ctfd_twisted.archive.report import Report
from ctfd_twisted.archive.store import DEPLOYMENT, LEFT_OUT, PAGE, ctfd_tables, locations, own_tables
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_competition, write_config
from ctfd_twisted.competition.tables import config, secrets
from ctfd_twisted.db.adopt import CTFD_1, CTFD_REVISIONS, CTFD_VERSION
from ctfd_twisted.db.migrate import HEAD
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.types import JSONObject, JSONValue, UTCDateTime
from ctfd_twisted.files.loose import loosen, settle
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.store import recompute_values

T = TypeVar("T")

#: Columns that refer to rows which come later: they are filled in afterwards.
_LATER: Final = {teams.name: "captain_id", challenges.name: "next_id"}
_CAPTAINS: Final = "b5551cd26764"
_STYLES: Final = "a03403986a32"
_THEMES: Final = frozenset({"core"})


def lacking(revision: str) -> frozenset[str]:
    """CTFd's revisions that an archive of *revision* does not have yet. Raises ``CannotImport`` with CTFd's texts."""
    if revision in CTFD_1:
        raise CannotImport("The version of CTFd that this backup is from is too old to be automatically imported.")
    if revision not in CTFD_REVISIONS:
        raise CannotImport("The target migration in this backup is not available in this version")
    return frozenset(CTFD_REVISIONS[CTFD_REVISIONS.index(revision) + 1 :])


def check_manifest(archive: Archive) -> None:
    """Raise ``CannotImport`` where a platform of another version has written its own tables in another form."""
    manifest = archive.manifest
    if manifest is not None and (manifest.format, manifest.revision) != (1, HEAD):
        raise CannotImport(
            f"The archive was written by version {manifest.version} of the platform, of revision {manifest.revision}; "
            f"this one knows revision {HEAD}"
        )


def announce(conn: Connection, now: datetime, coming: Collection[str]) -> frozenset[str]:
    """Write down that content comes to those locations of *coming* that no row names, and return them."""
    new = frozenset(coming) - frozenset(locations(conn))
    loosen(conn, new, now)
    return new


def load(conn: Connection, archive: Archive, progress: Progress, brought: Collection[str] = ()) -> Report:
    """Replace everything in the database by what is in *archive*. Raises ``CannotImport``, ``Abandoned``.

    Content has been *brought* to some locations. That which only old rows named may go. Sessions and
    letters that wait go as well. What has changed is told to everybody; values that follow the solves are recomputed.
    """
    loading = _Loading(conn, archive, progress)
    loading.check()
    before = locations(conn)
    wanted = _in_order(archive)
    _wipe(conn, wanted)
    for table in wanted:
        loading.fill(table)
    loading.finish()
    loading.revalue()
    after = locations(conn)
    for page in _cut(iter({*after, *brought})):
        settle(conn, page)
    loosen(conn, set(before) - {*after, *brought})
    loading.report.named = after
    touch(conn, EVERYTHING)
    return loading.report


def _in_order(archive: Archive) -> list[Table]:
    """Tables whose rows are replaced, each after those that it refers to."""
    wanted = {table.name for table in (*ctfd_tables(), *own_tables())}
    if archive.manifest is None:
        # CTFd knows none of our secrets, and those of this deployment are good for any competition.
        wanted.discard(secrets.name)
    return [table for table in metadata.sorted_tables if table.name in wanted]


def _wipe(conn: Connection, replaced: Collection[Table]) -> None:
    for table_name, column in _LATER.items():
        conn.execute(update(metadata.tables[table_name]).values({column: None}))
    gone = {*(table.name for table in replaced), *LEFT_OUT} - DEPLOYMENT
    for table in reversed(metadata.sorted_tables):
        if table.name in gone:
            try:
                conn.execute(delete(table))
            except IntegrityError as error:  # another program's table refers to it
                raise CannotImport(f"{table.name} can't be emptied: {' '.join(str(error.orig).split())}") from None


class _Loading:
    """One archive on its way into one database."""

    def __init__(self, conn: Connection, archive: Archive, progress: Progress) -> None:
        self._conn = conn
        self._archive = archive
        self._progress = progress
        self.report = Report()
        self._lacking: frozenset[str] = frozenset()
        self._later: dict[str, list[dict[str, int]]] = {name: [] for name in _LATER}

    def check(self) -> None:
        """Find out of which revision the archive is, and what in it nobody knows."""
        archive, report = self._archive, self.report
        report.revision = archive.revision()
        self._lacking = lacking(report.revision)
        check_manifest(archive)
        known = {table.name for table in ctfd_tables()} | {"alembic_version"}
        for name in sorted(archive.tables.keys() - known):
            report.note(name, "is a table that is not known here, and was left out")
        if archive.manifest is not None:
            ours = {table.name for table in own_tables()} | {tokens.name}
            for name in sorted(set(archive.own_tables()) - ours):
                report.note(name, "is a table that is not known here, and was left out")

    def fill(self, table: Table) -> None:
        """Insert the rows of *table*; what they refer to is there already."""
        member = self._archive.tables.get(table.name)
        if table.name.startswith("ctfp_"):
            member = self._archive.own_table(table.name) if self._archive.manifest is not None else None
        columns = {column.name: _described(column) for column in table.c}
        count = 0
        rows = iter(()) if member is None else self._archive.rows(member, self._progress.advance)
        for page in _cut(rows):
            kept = self._with_references(table, [self._fitted(table, columns, row) for row in page])
            if kept:
                self._insert(table, kept)
            count += len(kept)
        self.report.rows[table.name] = count

    def _fitted(self, table: Table, columns: Mapping[str, Column], row: Row) -> Row:
        try:
            found = fitted(columns, upgraded(table.name, row, self._lacking))
        except ValueError as error:
            raise CannotImport(str(error)) from None
        for name, what in found.changes:
            self.report.note(f"{table.name}.{name}", what)
        values = found.values
        later = _LATER.get(table.name)
        if later is not None and values[later] is not None:
            self._later[table.name].append({"row": values["id"], "other": values[later]})
            values[later] = None
        if table is tokens and values["value"] and not values["value"].startswith(HASHED):
            values["value"] = HASHED + digest_of(values["value"])
        return values

    def _with_references(self, table: Table, rows: list[Row]) -> list[Row]:
        """*rows* without references to what is not there: by the rule of the key, the reference goes or the row."""
        for column in table.c:
            for key in column.foreign_keys:
                if column.name != _LATER.get(table.name):
                    rows = self._with_reference(table, column.name, key, rows)
        return rows

    def _with_reference(self, table: Table, name: str, key: ForeignKey, rows: list[Row]) -> list[Row]:
        known = self._present(key.column, {row[name] for row in rows if row[name] is not None})
        kept = []
        for row in rows:
            if row[name] is None or row[name] in known:
                kept.append(row)
            elif key.ondelete != "CASCADE" and table.c[name].nullable:
                kept.append({**row, name: None})
                self.report.note(f"{table.name}.{name}", "referred to nothing, and was emptied")
            else:
                self.report.note(f"{table.name}.{name}", "referred to nothing, and the row was left out")
        return kept

    def _present(self, column: SQLColumn[Any], wanted: set[Any]) -> set[Any]:
        return set(self._conn.execute(select(column).where(column.in_(wanted))).scalars()) if wanted else set()

    def _insert(self, table: Table, rows: Sequence[Row]) -> None:
        try:
            self._conn.execute(table.insert(), rows)
        except IntegrityError as error:
            raise CannotImport(f"{table.name}: {' '.join(str(error.orig).split())}") from None

    def finish(self) -> None:
        """Fill in what came later, and make of it a competition that runs here."""
        for name, column in _LATER.items():
            self._refer(metadata.tables[name], column, self._later[name])
        self._token_hashes()
        if _CAPTAINS in self._lacking:
            first = select(func.min(users.c.id)).where(users.c.team_id == teams.c.id).scalar_subquery()
            self._conn.execute(update(teams).values(captain_id=first))
        self._settle()
        if self._conn.dialect.name == "postgresql":
            _advance_sequences(self._conn)
        if self._conn.execute(select(users.c.id).where(users.c.type == "admin").limit(1)).first() is None:
            self.report.note(users.name, "nobody in the archive is an administrator")

    def revalue(self) -> None:
        """Have values follow the solves that count now; CTFd leaves them as they were when somebody is banned."""
        stored = {row.id: row.value for row in self._conn.execute(select(challenges.c.id, challenges.c.value))}
        values = recompute_values(self._conn)
        moved = sum(stored[number] != value for number, value in values.items())
        self.report.note("challenges.value", "did not follow the solves that count, and does now", moved)

    def _refer(self, table: Table, column: str, pairs: Sequence[Mapping[str, int]]) -> None:
        target = next(iter(table.c[column].foreign_keys)).column
        for page in _cut(iter(pairs)):
            known = self._present(target, {pair["other"] for pair in page})
            found = [dict(pair) for pair in page if pair["other"] in known]
            self.report.note(f"{table.name}.{column}", "referred to nothing, and was emptied", len(page) - len(found))
            if found:
                change = update(table).where(table.c.id == bindparam("row")).values({column: bindparam("other")})
                self._conn.execute(change, found)

    def _token_hashes(self) -> None:
        """Give tokens their hashes back, which are not where CTFd looks."""
        member = None if self._archive.manifest is None else self._archive.own_table(tokens.name)
        change = update(tokens).where(tokens.c.id == bindparam("row"), tokens.c.value.is_(None))
        change = change.values(value=bindparam("hash"))
        for page in _cut(iter(()) if member is None else self._archive.rows(member, self._progress.advance)):
            hashes = [
                {"row": row["id"], "hash": row["value"]}
                for row in page
                if isinstance(row.get("id"), int) and str(row.get("value", "")).startswith(HASHED)
            ]
            if hashes:
                self._conn.execute(change, hashes)
        empty = select(func.count()).select_from(tokens).where(tokens.c.value.is_(None))
        self.report.note(tokens.name, "open nothing, since their values are unknown", self._conn.scalar(empty) or 0)

    def _settle(self) -> None:
        competition = read_competition(self._conn)
        settings: dict[str, object] = {"ctf_version": CTFD_VERSION}
        if competition.text("ctf_theme") not in {"", *_THEMES}:
            settings["ctf_theme"] = "core"
            self.report.note("config.ctf_theme", f"{competition.text('ctf_theme')} is not installed, and became core")
        if not competition.is_set_up:
            settings["setup"] = True
            self.report.note("config.setup", "the competition was not set up, and is now")
        css = competition.text("css")
        if _STYLES in self._lacking and css:
            settings["theme_header"] = f"{competition.text('theme_header')}<style>{css}</style>"
            self._conn.execute(delete(config).where(config.c.key == "css"))
        write_config(self._conn, settings)


def _advance_sequences(conn: Connection) -> None:
    for table in (*ctfd_tables(), *own_tables()):
        key = table.autoincrement_column
        if key is None:
            continue
        last = select(func.coalesce(func.max(key), 0) + 1).scalar_subquery()
        sequence = func.pg_get_serial_sequence(table.name, key.name)
        conn.execute(select(func.setval(sequence, last, text("false"))).where(sequence.is_not(None)))


def _described(column: SQLColumn[Any]) -> Column:
    kind = column.type
    length = getattr(kind, "length", None)
    return Column(column.table.name, column.name, _kind(kind), length, bool(column.nullable))


def _kind(kind: object) -> Kind:
    if isinstance(kind, JSONObject):
        return "object"
    if isinstance(kind, JSONValue):
        return "json"
    if isinstance(kind, UTCDateTime | DateTime):
        return "instant"
    if isinstance(kind, LargeBinary):
        return "bytes"
    names: tuple[tuple[type, Kind], ...] = ((Boolean, "boolean"), (Integer, "integer"), (Float, "number"))
    return next((name for type_, name in names if isinstance(kind, type_)), "text")


def _cut(rows: Iterator[T]) -> Iterator[list[T]]:
    while page := list(islice(rows, PAGE)):
        yield page
