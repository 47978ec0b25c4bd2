"""The way from every known database to the present one, by Alembic.

A revision never imports a ``tables.py``: what it says stays true when the tables have moved on. Begin a new one with
``alembic.command.revision(alembic_config(), message="what it does", rev_id="0002")``, and write it by hand.
"""
