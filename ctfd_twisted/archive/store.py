"""What goes into an archive, read page by page: CTFd's tables in CTFd's form, and ours beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Select, Table, case, func, inspect, null, select

from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.tables import tokens
from ctfd_twisted.accounts.tokens import HASHED
from ctfd_twisted.archive.rules import own_member, table_member
from ctfd_twisted.archive.tables import imports
from ctfd_twisted.challenges.tables import challenges, dynamic_challenge, files
from ctfd_twisted.competition.tables import config
from ctfd_twisted.db.adopt import CTFD_HEAD, DYNAMIC_HEAD, VERSION_TABLE
from ctfd_twisted.db.tables import alembic_version, leases, news, others
from ctfd_twisted.files.tables import loose
from ctfd_twisted.mail.tables import outbox
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.tables import solves, submissions

#: So many rows are in memory at a time.
PAGE: Final = 1000
#: How the names of our own tables begin.
_OURS: Final = "ctfp_"
#: What nodes are doing or have done, and where content lies: of this deployment, whatever competition is on it.
DEPLOYMENT: Final = frozenset({leases.name, news.name, others.name, loose.name, imports.name})
#: In no archive: that, who is signed in here, and letters, which are sealed with the secret key.
LEFT_OUT: Final = DEPLOYMENT | {sessions.name, outbox.name}

_DYNAMIC: Final = "dynamic_challenges_alembic_version"
_IS_HASH: Final = tokens.c.value.startswith(HASHED, autoescape=True)

#: Columns whose values are not those of the database, by table.
_CHANGED: Final[dict[str, dict[str, Any]]] = {
    tokens.name: {"value": case((_IS_HASH, null()), else_=tokens.c.value).label("value")},
    config.name: {"value": case((config.c.key == _DYNAMIC, DYNAMIC_HEAD), else_=config.c.value).label("value")},
}

Row = dict[str, Any]


class Source(NamedTuple):
    """The rows of one member of an archive: of a table of CTFd's, or what is ours of *table*."""

    table: str
    rows: Select[Any]
    ours: bool = False

    @property
    def member(self) -> str:
        """The name of the member."""
        return own_member(self.table) if self.ours else table_member(self.table)


def ctfd_tables() -> list[Table]:
    """CTFd's tables by name; what stands in ``alembic_version`` is no row of the competition."""
    known = [table for table in metadata.tables.values() if not table.name.startswith(_OURS)]
    return sorted((table for table in known if table is not alembic_version), key=lambda table: table.name)


def own_tables() -> list[Table]:
    """Those of our own tables that an archive holds, by name."""
    ours = [table for table in metadata.tables.values() if table.name.startswith(_OURS)]
    return sorted((table for table in ours if table.name not in LEFT_OUT), key=lambda table: table.name)


def as_ctfd_has_it(table: Table) -> Select[Any]:
    """The rows of one of CTFd's tables as CTFd can read them, in the order of their keys.

    It would take the hash of an access token for the token itself, so hashes are left empty. Halves of challenges and
    of solves, which old SQLite files may hold, are left out.
    """
    changed = _CHANGED.get(table.name, {})
    rows = select(*(changed.get(column.name, column) for column in table.c)).order_by(*table.primary_key)
    if table is dynamic_challenge:
        return rows.where(dynamic_challenge.c.id.in_(select(challenges.c.id)))
    if table is solves:
        return rows.where(solves.c.id.in_(select(submissions.c.id)))
    return rows


def sources() -> list[Source]:
    """Every member that holds rows, CTFd's first."""
    hashes = select(tokens.c.id, tokens.c.value).where(_IS_HASH).order_by(tokens.c.id)
    return [
        *(Source(table.name, as_ctfd_has_it(table)) for table in ctfd_tables()),
        *(Source(table.name, select(table).order_by(*table.primary_key), ours=True) for table in own_tables()),
        Source(tokens.name, hashes, ours=True),
    ]


def revision_rows() -> list[Row]:
    """The rows of ``alembic_version``: the archive has the columns of this revision, whatever the database was."""
    return [{"version_num": CTFD_HEAD}]


def added_rows(conn: Connection, source: Source) -> list[Row]:
    """Rows that CTFd needs beside those of the database.

    On SQLite it does not say which columns ``dynamic_challenge`` has, and would then change those of the archive.
    """
    if source.ours or source.table != config.name:
        return []
    if conn.execute(select(config.c.id).where(config.c.key == _DYNAMIC)).first() is not None:
        return []
    highest = conn.execute(select(func.max(config.c.id))).scalar() or 0
    return [{"id": highest + 1, "key": _DYNAMIC, "value": DYNAMIC_HEAD}]


def count_rows(conn: Connection, source: Source) -> int:
    """How many rows of the database *source* has."""
    return int(conn.execute(select(func.count()).select_from(source.rows.order_by(None).subquery())).scalar_one())


def pages(conn: Connection, rows: Select[Any]) -> Iterator[Sequence[Row]]:
    """*rows*, at most :data:`PAGE` at a time; the database keeps the rest."""
    found = conn.execute(rows, execution_options={"yield_per": PAGE})
    names = tuple(found.keys())
    for page in found.partitions():
        yield [dict(zip(names, row, strict=True)) for row in page]


def locations(conn: Connection) -> tuple[str, ...]:
    """Where the content of each file is kept, in order."""
    found = conn.execute(select(files.c.location).where(files.c.location.is_not(None)).distinct())
    return tuple(sorted(found.scalars()))


def foreign_tables(conn: Connection) -> tuple[str, ...]:
    """The tables that are there and nobody here knows, by name: those of CTFd's plug-ins, for example."""
    return tuple(sorted(set(inspect(conn).get_table_names()) - set(metadata.tables) - {VERSION_TABLE}))
