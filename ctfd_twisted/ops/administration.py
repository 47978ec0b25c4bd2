"""What the commands of ``ctfplatform`` do with the database, without a reactor: each is one transaction."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, or_, select
from twisted.python.failure import Failure

from ctfd_twisted.accounts.passwords import make_hash
from ctfd_twisted.accounts.setup import SetupForm, set_up_competition
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.accounts.tokens import create_token
from ctfd_twisted.db.adopt import recognise
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import Say, migrate
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.errors import DomainError
from ctfd_twisted.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

#: A hundred years: what is meant to be for ever, and still a date.
LONGEST_TOKEN_DAYS: Final = 36_500


class CannotAdminister(DomainError):
    """A command can't be done; the text is one line for the person at the shell."""


def migrate_database(settings: Settings, say: Say) -> str:
    """Bring the database to the present schema; one line that says what was done."""
    engines = open_engines(settings.database)
    try:
        return str(migrate(engines.write_engine, say))
    finally:
        engines.close()


def set_up(settings: Settings, form: SetupForm, say: Say) -> None:
    """Make the competition and its first administrator, in a database that is migrated first where it has to be.

    Raises ``Invalid`` with everything that is wrong, and where the competition is set up already.
    """
    migrate_database(settings, say)
    hashed = make_hash(form.password, settings.password_rounds)
    _transact(settings, set_up_competition, datetime.now(UTC), form, hashed)


def make_token(settings: Settings, owner: str, days: int, description: str | None) -> str:
    """Make an access token of the user with this name or e-mail address; its value, which is shown only here."""
    now = datetime.now(UTC)

    def transaction(conn: Connection) -> str:
        _, value = create_token(conn, now, _user_id(conn, owner), now + timedelta(days=days), description)
        return value

    return _transact(settings, transaction)


def _user_id(conn: Connection, owner: str) -> int:
    matching = or_(users.c.name == owner, users.c.email == owner)
    ids = conn.execute(select(users.c.id).where(matching).limit(2)).scalars().all()
    if not ids:
        raise CannotAdminister(f"there is no user with the name or e-mail address {owner!r}")
    if len(ids) > 1:
        raise CannotAdminister(f"several users are called {owner!r}; give the e-mail address of one")
    return int(ids[0])


def _transact(settings: Settings, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``fn(conn, *args)`` as one write transaction, of which running nodes are told as of one of their own."""
    with _opened(settings) as database:
        with database.engines.reader() as conn:
            if recognise(conn).kind != "ours":
                raise CannotAdminister("the database has no schema of the platform yet; run ctfplatform migrate")
        outcome: list[T | Failure] = []
        # Everything happens in this thread, so the Deferred has fired when it is given back.
        database.run(fn, *args, **kwargs).addBoth(outcome.append)
        (value,) = outcome
        if isinstance(value, Failure):
            value.raiseException()
        return value


@contextmanager
def _opened(settings: Settings) -> Iterator[Database]:
    database = Database(open_engines(settings.database), Bus(), write=start_inline, read=start_inline)
    try:
        yield database
    finally:
        database.close()
