"""The lines of the scoreboard as JSON shows them (api/scoreboard.md). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NotRequired, TypedDict

import msgspec

from ctfd_twisted.scoring.store import Standing

Word = Literal["user", "team"]

_PLACE: Final = b'{"pos":'
_BEFORE: Final = _PLACE + b"0,"


class MemberShown(TypedDict):
    """One member of a team, with the points of their own."""

    id: int
    oauth_id: int | None
    name: str | None
    score: int
    bracket_id: int | None
    bracket_name: str | None


class LineShown(TypedDict):
    """One account on the board; ``members`` where teams play."""

    pos: int
    account_id: int
    account_url: str
    account_type: Word
    oauth_id: int | None
    name: str
    score: int
    bracket_id: int | None
    bracket_name: str | None
    members: NotRequired[list[MemberShown]]


class Member(msgspec.Struct, frozen=True):
    """A listed member of a team."""

    id: int
    oauth_id: int | None
    name: str | None
    bracket_id: int | None
    bracket_name: str | None

    def shown(self, score: int) -> MemberShown:
        """The member with their own points."""
        return {
            "id": self.id,
            "oauth_id": self.oauth_id,
            "name": self.name,
            "score": score,
            "bracket_id": self.bracket_id,
            "bracket_name": self.bracket_name,
        }


def rest_of_line(standing: Standing, members: Sequence[MemberShown] | None, kind: Word, root: str) -> bytes:
    """The line of an account as JSON, from behind the place on, which others move; *members* are a team's."""
    line: LineShown = {
        "pos": 0,
        "account_id": standing.account_id,
        "account_url": f"{root}/{kind}s/{standing.account_id}",
        "account_type": kind,
        "oauth_id": standing.oauth_id,
        "name": standing.name,
        "score": standing.score,
        "bracket_id": standing.bracket_id,
        "bracket_name": standing.bracket_name,
    }
    if members is not None:
        line["members"] = list(members)
    return msgspec.json.encode(line).removeprefix(_BEFORE)


def board_answer(lines: Iterable[tuple[int, bytes]]) -> bytes:
    """The answer with all lines: each account's place, and the rest of its line."""
    return b'{"success":true,"data":[%b]}' % b",".join(b"%b%d,%b" % (_PLACE, place, rest) for place, rest in lines)
