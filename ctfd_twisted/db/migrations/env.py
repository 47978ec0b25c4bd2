"""Run by Alembic for every command: migrate on the connection that ``migrate.py`` has locked, in its transaction."""

from __future__ import annotations

from alembic import context

# CTFd keeps its own revision in ``alembic_version``, so ours stands elsewhere.
context.configure(connection=context.config.attributes["connection"], version_table="ctfp_version")
with context.begin_transaction():
    context.run_migrations()
