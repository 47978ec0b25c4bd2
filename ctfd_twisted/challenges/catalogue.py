"""All challenges with everything that is the same for everybody, read in one go and kept in memory.

What the public sees stands still at the freeze: counts of solves, values that follow them, and ratings are kept twice,
as they were then and as they are. Nothing in here says whether somebody may see it; that is asked of ``rules.reach``
every time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, case, func, or_, select

from ctfd_twisted.accounts.tables import audience_members
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.rules import Gate, gate_of, order_key
from ctfd_twisted.challenges.tables import (
    challenge_ends,
    challenges,
    files,
    frozen_ratings,
    hints,
    module_audience_access,
    ratings,
    solutions,
    tags,
)
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.scoring.accounts import account_kind
from ctfd_twisted.scoring.news import RATED_OF, SOLVED_OF, challenges_in, rated_in
from ctfd_twisted.scoring.values import counted_solves, frozen_values

#: After which commits the catalogue is read anew; audiences touch "challenges" like everything about them.
TOPICS = ("challenges", "config")
#: How the topics begin that move nothing but the numbers of one challenge.
NEWS: Final = (*SOLVED_OF, *RATED_OF)


class Hint(msgspec.Struct, frozen=True):
    """A hint; ``cost`` is in points."""

    id: int
    title: str | None
    cost: int
    content: str | None


class File(msgspec.Struct, frozen=True):
    """A file that is handed out."""

    id: int
    location: str


class Solution(msgspec.Struct, frozen=True):
    """Where the solution is, and who may see it: ``hidden``, ``visible`` or ``solved``."""

    id: int
    state: str


class Ratings(msgspec.Struct, frozen=True):
    """How many liked the challenge and how many did not."""

    up: int = 0
    down: int = 0
    count: int = 0


class Numbers(msgspec.Struct, frozen=True):
    """What moves with every solve."""

    value: int | None
    solves: int
    ratings: Ratings


class Entry(msgspec.Struct, frozen=True):
    """One challenge.

    ``columns`` are those of its row and ``ends_at``, ``settings`` what its kind reads out for administrators.
    """

    id: int
    type: str
    gate: Gate
    columns: Mapping[str, Any]
    settings: Mapping[str, Any]
    public: Numbers
    live: Numbers
    tags: tuple[str, ...]
    hints: tuple[Hint, ...]
    files: tuple[File, ...]
    solution: Solution | None

    @property
    def installed(self) -> bool:
        """Whether some plug-in brings its kind."""
        return self.type in challenge_types()

    def order(self, value: int | None) -> tuple[bool, int, int, int]:
        """Where it stands in a list that shows *value*."""
        return order_key(self.columns["position"], value, self.id)


class Catalogue(msgspec.Struct, frozen=True):
    """All challenges by id, and which accounts each module was opened to."""

    entries: Mapping[int, Entry]
    audiences: Mapping[int, frozenset[int]]
    scheduled: tuple[datetime, ...]

    def modules_of(self, account_id: int | None) -> frozenset[int]:
        """The modules that were opened to an account."""
        return frozenset(module for module, accounts in self.audiences.items() if account_id in accounts)

    def next_release(self, now: datetime) -> datetime | None:
        """When the next challenge is released after *now*."""
        return next((instant for instant in self.scheduled if instant > now), None)


def read_catalogue(conn: Connection) -> Catalogue:
    """The catalogue as it is in this transaction."""
    competition = read_competition(conn)
    ends = challenge_ends.c
    everything = select(challenges, ends.ends_at).outerjoin(challenge_ends, ends.challenge_id == challenges.c.id)
    rows = conn.execute(everything).all()
    settings = _settings(conn, rows)
    live, public = _numbers(conn, competition, rows)
    tags_of = _grouped(conn.execute(select(tags.c.challenge_id, tags.c.value).order_by(tags.c.id)))
    hints_of = _grouped(conn.execute(select(hints).order_by(hints.c.id)))
    files_of = _grouped(conn.execute(select(files).where(files.c.type == "challenge").order_by(files.c.id)))
    solution_of = {row.challenge_id: Solution(row.id, row.state) for row in conn.execute(select(solutions))}
    entries = {
        row.id: Entry(
            row.id,
            row.type or "standard",
            gate_of(row),
            row._asdict(),
            settings.get(row.id, {}),
            public[row.id],
            live[row.id],
            tuple(tag.value or "" for tag in tags_of[row.id]),
            tuple(Hint(hint.id, hint.title, hint.cost or 0, hint.content) for hint in hints_of[row.id]),
            tuple(File(file.id, file.location) for file in files_of[row.id] if file.location),
            solution_of.get(row.id),
        )
        for row in rows
    }
    scheduled = sorted(row.scheduled_at for row in rows if row.scheduled_at is not None)
    return Catalogue(entries, _audiences(conn, competition), tuple(scheduled))


def grow_catalogue(conn: Connection, catalogue: Catalogue, news: frozenset[str]) -> Catalogue | None:
    """*catalogue* with the present numbers of the challenges in *news*; None where it can't be told.

    All else of it stays the same objects.
    """
    rated = rated_in(news)
    ids = challenges_in(news) | rated
    rows = conn.execute(select(challenges.c.id, challenges.c.value).where(challenges.c.id.in_(ids))).all()
    if not ids <= catalogue.entries.keys() or len(rows) != len(ids):
        return None
    competition = read_competition(conn)
    kind, freeze = account_kind(teams_mode=competition.teams), competition.frozen_at
    solved = counted_solves(conn, kind, tuple(ids))
    known = solved if freeze is None else counted_solves(conn, kind, tuple(ids), before=freeze)
    liked = _ratings(conn, before=None, of=rated) if rated else {}
    seen = _ratings(conn, before=freeze, of=rated) if rated and freeze is not None else liked
    entries = dict(catalogue.entries)
    for row in rows:
        entry, count = entries[row.id], known.get(row.id, 0)
        live = Numbers(row.value, solved.get(row.id, 0), liked.get(row.id, entry.live.ratings))
        shown = seen.get(row.id, entry.public.ratings)
        # In this order: a stored value that CTFd did not compute anew is not what the public sees after the freeze.
        if freeze is not None and count == entry.public.solves:
            public = msgspec.structs.replace(entry.public, ratings=shown)
        elif count == live.solves:
            public = Numbers(row.value, count, shown)
        else:
            return None
        columns = {**entry.columns, "value": row.value}
        entries[row.id] = msgspec.structs.replace(entry, columns=columns, live=live, public=public)
    return Catalogue(entries, catalogue.audiences, catalogue.scheduled)


def _settings(conn: Connection, rows: Iterable[Row[Any]]) -> dict[int, Mapping[str, Any]]:
    ids_by_type: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        ids_by_type[row.type or "standard"].append(row.id)
    found: dict[int, Mapping[str, Any]] = {}
    for name, kind in challenge_types().items():
        if name in ids_by_type:
            found.update(kind.settings(conn, ids_by_type[name]))
    return found


def _numbers(
    conn: Connection, competition: Competition, rows: Iterable[Row[Any]]
) -> tuple[dict[int, Numbers], dict[int, Numbers]]:
    """What moves with every solve: as it is, and as the public sees it."""
    kind = account_kind(teams_mode=competition.teams)
    solved, rated = counted_solves(conn, kind), _ratings(conn, before=None)
    live = {row.id: Numbers(row.value, solved.get(row.id, 0), rated.get(row.id, Ratings())) for row in rows}
    freeze = competition.frozen_at
    if freeze is None:
        return live, live
    solved, rated = counted_solves(conn, kind, before=freeze), _ratings(conn, before=freeze)
    values = frozen_values(conn, competition)
    public = {
        row.id: Numbers(values.get(row.id, row.value), solved.get(row.id, 0), rated.get(row.id, Ratings()))
        for row in rows
    }
    return live, public


def _ratings(conn: Connection, *, before: datetime | None, of: Iterable[int] | None = None) -> dict[int, Ratings]:
    """The sums for each challenge, or for some *of* them: of ratings as they are, or were *before* an instant."""
    counted = select(ratings.c.challenge_id, ratings.c.value)
    if before is not None:
        then = case((ratings.c.date < before, ratings.c.value), else_=frozen_ratings.c.value).label("value")
        counted = (
            select(ratings.c.challenge_id, then)
            .outerjoin(frozen_ratings, frozen_ratings.c.rating_id == ratings.c.id)
            .where(or_(ratings.c.date < before, frozen_ratings.c.date < before))
        )
    if of is not None:
        counted = counted.where(ratings.c.challenge_id.in_(of))
    rated = counted.subquery("rated")
    value = rated.c.value
    sums = select(
        rated.c.challenge_id,
        func.sum(case((value > 0, value), else_=0)).label("up"),
        func.sum(case((value < 0, -value), else_=0)).label("down"),
        func.count().label("count"),
    ).group_by(rated.c.challenge_id)
    return {row[0]: Ratings(int(row[1]), int(row[2]), row[3]) for row in conn.execute(sums)}


def _audiences(conn: Connection, competition: Competition) -> dict[int, frozenset[int]]:
    member = account_kind(teams_mode=competition.teams).of(audience_members)
    opened: defaultdict[int, set[int]] = defaultdict(set)
    for row in conn.execute(
        select(module_audience_access.c.module_id, member.label("account_id"))
        .join(audience_members, audience_members.c.audience_id == module_audience_access.c.audience_id)
        .where(member.is_not(None))
    ):
        opened[row.module_id].add(row.account_id)
    return {module: frozenset(accounts) for module, accounts in opened.items()}


def _grouped(rows: Iterable[Any]) -> defaultdict[int | None, list[Any]]:
    groups: defaultdict[int | None, list[Any]] = defaultdict(list)
    for row in rows:
        groups[row.challenge_id].append(row)
    return groups
