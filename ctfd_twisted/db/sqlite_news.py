"""What those who share an SQLite file tell each other of their commits: ``NOTIFY`` for a database that has none.

Each commit of ours that touches topics leaves a row of news. What another program writes moves a mark, by triggers
(docs/adr/0088-news-in-an-sqlite-file.md).
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, insert

from ctfd_twisted.db.notices import EVERYTHING
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.db.tables import news

#: The longest text of topics that is stored; whoever would tell more tells that everything may have changed.
LONGEST: Final = 8000

_NOTHING: Final[frozenset[str]] = frozenset()
_ALL: Final = frozenset({EVERYTHING})

_TELL: Final = Ready(insert(news), ("node", "topics"))
_VERSION: Final = "PRAGMA data_version"
_LINE: Final = "id || ' ' || node || ' ' || topics"
_LAST: Final = f"SELECT {_LINE} FROM ctfp_news ORDER BY id DESC LIMIT 1"  # noqa: S608 - a constant
# One row, because the driver lets go of the interpreter for each. The last line that was read comes again: where it is
# not there as it was, nobody knows what else is gone.
_LOOK: Final = f"""
SELECT (SELECT mark FROM ctfp_others WHERE id = 1),
       (SELECT schema_version FROM pragma_schema_version),
       (SELECT group_concat({_LINE}, char(10)) FROM (SELECT * FROM ctfp_news WHERE id >= ? ORDER BY id))
"""  # noqa: S608 - the same
_TRIGGERS: Final = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name GLOB 'ctfp_*'"

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_decode: Final = msgspec.json.Decoder(list[str]).decode


def tell(conn: Connection, node: str, topics: frozenset[str]) -> None:
    """Store that *node* has touched *topics*, in the transaction that does; others read it once that is committed."""
    told = _encode(topics)
    if len(told) > LONGEST:
        told = _encode(_ALL)
    _TELL.run(conn, {"node": node, "topics": told.decode()})


class SQLiteWatch:
    """Notices what other processes have committed to an SQLite file.

    ``PRAGMA data_version`` says that somebody has committed something, us included. Only then what was told is read,
    from memory that the processes share. Neither waits for a writer.

    Raises ``sqlite3.Error`` where *path* can't be read or holds no news.
    """

    def __init__(self, path: str, node: str) -> None:
        # Made in one thread and used from another, never from two at once.
        self._conn = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=0)
        self._cursor = self._conn.cursor()
        self._node = node
        self._version = self._first(_VERSION)
        self._last = self._first(_LAST)
        self._mark, self._schema, _ = self._look()
        self._triggers = self._first(_TRIGGERS)
        self._deaf = False

    def news(self) -> frozenset[str]:
        """The topics of what others have committed since the last look, without those of our own commits.

        All topics where it is not known what was changed.
        """
        try:
            version = self._first(_VERSION)
            if version == self._version:
                return _NOTHING
            topics = self._read()
        except sqlite3.Error:
            # Whatever it was, it is looked at again the next time; till then nothing that is remembered is good.
            return _ALL
        self._version = version
        return topics

    def close(self) -> None:
        """Close the watching connection."""
        self._conn.close()

    def _first(self, query: str) -> Any:
        row = self._cursor.execute(query).fetchone()
        return None if row is None else row[0]

    def _look(self) -> tuple[int | None, int, list[str]]:
        mark, schema, text = self._cursor.execute(_LOOK, (_number(self._last),)).fetchone()
        return mark, schema, text.split("\n") if text else []

    def _read(self) -> frozenset[str]:
        mark, schema, lines = self._look()
        if schema != self._schema:
            self._deaf = self._first(_TRIGGERS) < self._triggers
        same = (mark, schema) == (self._mark, self._schema) and mark is not None and not self._deaf
        self._mark, self._schema = mark, schema
        told = self._told(lines) if same else None
        if told is None:
            self._last = self._first(_LAST)
            return _ALL
        self._last = lines[-1] if lines else None
        return told

    def _told(self, lines: list[str]) -> frozenset[str] | None:
        """The topics of *lines* by others, or None where some are missing or not as we write them."""
        read = 0 if self._last is None else 1
        if read and lines[:1] != [self._last]:
            return None
        if len(lines) == read:
            return _NOTHING
        try:
            news = [line.split(" ", 2) for line in lines]
            if any(int(number) != expected for expected, (number, _, _) in enumerate(news, _number(self._last) or 1)):
                return None
            return _NOTHING.union(*(_decode(topics) for _, node, topics in news[read:] if node != self._node))
        except (ValueError, msgspec.DecodeError):
            return None


def _number(line: str | None) -> int:
    return 0 if line is None else int(line.partition(" ")[0])
