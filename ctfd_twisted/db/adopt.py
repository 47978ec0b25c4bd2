"""Recognising what stands in a database, and refusing what must not be touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from sqlalchemy import Connection, inspect, text

from ctfd_twisted.errors import DomainError

#: Where our own revision stands; ``alembic_version`` is CTFd's.
VERSION_TABLE: Final = "ctfp_version"

CTFD_VERSION: Final = "3.8.7"
#: The revisions of CTFd 2 and 3, oldest first; the last is that of 3.8.7.
CTFD_REVISIONS: Final = tuple(
    """
    8369118943a1 4e4d5a9ea000 b5551cd26764 b295b033364d 080d29b15cd3 a03403986a32 1093835a1051 0366ba6575ca 75e8ab9a0014
    07dfbe5e1edc ef87d69ec29a 6012fe8de495 4d3c1b59d011 46a278193a94 0def790057c1 9e6f6578ca84 5c4996aeb2cb 9889b8c53673
    a02c5bf43407 4fe3eeed9a9d a49ad66aa0f1 62bf576b2cd3 f73a96c97449 662d728ad7da 364b4efa1686 5c98d9253f56 55623b100da8
    24ad6790bc3c 67ebab6de598 48d8250d19bd 336b8c601b94 e69a79ebffd3 8275865e5992
    """.split()  # noqa: SIM905 - a chain to compare with the contract's, not 33 quoted lines
)
CTFD_HEAD: Final = CTFD_REVISIONS[-1]
DYNAMIC_HEAD: Final = "93284ed9c099"
#: The revisions of CTFd 1.
CTFD_1: Final = frozenset(
    """
    1ec4a28fe0ff 2539d8b5082e 7e9efd084c5a 87733981ca0e a4e30c94c360 c12d2a1b0926 c7225db614c1 cb3cfcc47e2f cbf5620f8e15
    d5a224bf5862 d6514ec92738 dab615389702 e62fd69bd417
    """.split()  # noqa: SIM905 - the same
)
# Tables that CTFd has had since 2.0, so a database without one of them is not CTFd's.
_CORE: Final = frozenset({"alembic_version", "users", "teams", "challenges", "submissions", "solves", "config"})

Kind = Literal["empty", "ctfd", "ours"]


class CannotMigrate(DomainError):
    """The database cannot be brought to the present schema; the message says why and what to do, in one line.

    It ends the start of a node, or a command, and is never the answer to a request.
    """


@dataclass(frozen=True)
class Found:
    """What stands in a database: whose schema, and at which revision (of ours, else of CTFd's, else ``None``)."""

    kind: Kind
    revision: str | None


def recognise(conn: Connection) -> Found:
    """Say what stands in the database. Raises ``CannotMigrate`` for what cannot be adopted."""
    tables = set(inspect(conn).get_table_names())
    if VERSION_TABLE in tables:
        return Found("ours", conn.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar())  # noqa: S608 - a constant
    if not tables:
        return Found("empty", None)
    revision = None
    if "alembic_version" in tables:
        revision = conn.execute(text("SELECT version_num FROM alembic_version")).scalar()
    _check_revision(conn.dialect.name, revision)
    if not tables >= _CORE:
        some = ", ".join(sorted(tables)[:5])
        raise CannotMigrate(f"The database holds tables that are not CTFd's ({some}); use an empty database")
    if conn.dialect.name == "postgresql":
        _check_migrated(conn, revision)
    return Found("ctfd", revision)


def _check_revision(dialect: str, revision: str | None) -> None:
    if revision in CTFD_1:
        raise CannotMigrate(
            f"The database is CTFd 1's (revision {revision}), which cannot be adopted; use an empty one"
        )
    if revision is not None and revision not in CTFD_REVISIONS:
        raise CannotMigrate(
            f"The database is at revision {revision}, which CTFd {CTFD_VERSION} does not know; is it of a newer CTFd?"
        )
    # CTFd migrates PostgreSQL itself, with changes of data on the way. SQLite it never does, so there the revision says
    # nothing and what is missing is added.
    if dialect == "postgresql" and revision not in {None, CTFD_HEAD}:
        raise CannotMigrate(
            f"The database is at CTFd's revision {revision}; start CTFd {CTFD_VERSION} on it once, which brings it to "
            f"{CTFD_HEAD}, then try again"
        )


def _check_migrated(conn: Connection, revision: str | None) -> None:
    if revision is None:
        raise CannotMigrate("The database has CTFd's tables but no revision in alembic_version; restore that row first")
    key = {"key": "dynamic_challenges_alembic_version"}
    dynamic = conn.execute(text("SELECT value FROM config WHERE key = :key ORDER BY id"), key).scalar()
    if dynamic not in {None, DYNAMIC_HEAD}:
        raise CannotMigrate(
            f"The table dynamic_challenge is at CTFd's revision {dynamic}; start CTFd {CTFD_VERSION} on the database "
            f"once, which brings it to {DYNAMIC_HEAD}, then try again"
        )
