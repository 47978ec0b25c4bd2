"""Many short rows read as one text.

The driver lets go of the interpreter for every row that SQLite steps to, and while the reactor is busy it gets it back
late: a transaction of a hundred rows waits a hundred times, and the reactor as often. So what is read often has the
database join its rows.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Text, cast, func, literal_column

# As columns, because SQLAlchemy writes a text given here into the statement anew at each execution.
_BLANK: Final = literal_column("' '", Text)
_LINE_END: Final[Any] = literal_column("'\n'", Text)


def gathered(column: ColumnElement[Any], *more: ColumnElement[Any]) -> ColumnElement[str]:
    """All rows of these columns as one text: a line for each, its values apart by blanks, in no particular order.

    A row with a NULL among them is left out; without any row the text is NULL. Only the last column may hold blanks,
    and none a line's end.
    """
    line: ColumnElement[str] = cast(column, Text)
    for other in more:
        line = line + _BLANK + cast(other, Text)
    return func.aggregate_strings(line, _LINE_END)


def numbers(text: str | None) -> list[int]:
    """All values of such a text, where they are whole numbers."""
    return list(map(int, text.split())) if text else []


def pairs(text: str | None) -> list[tuple[int, str]]:
    """The rows of such a text, where each is a whole number and one more value."""
    rows = (line.partition(" ") for line in (text.split("\n") if text else ()))
    return [(int(number), value) for number, _, value in rows]
