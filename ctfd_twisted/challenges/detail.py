"""One challenge as one caller sees it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, NotRequired, TypedDict

import msgspec

from ctfd_twisted.challenges.catalogue import Entry, File, Ratings, Solution
from ctfd_twisted.challenges.listing import ChallengePlaceholder
from ctfd_twisted.challenges.own import Own, Rating
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.shown import ChallengeShown, readout
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.koth.views import HillSeen
from ctfd_twisted.shapes import with_more

#: Of a kind's settings, those that every caller may read, because CTFd's clients do.
_OPEN_SETTINGS: Final = frozenset({"initial", "minimum", "decay", "function"})


class HintOffered(TypedDict):
    """A hint; its content is there once the account has unlocked it, and for everybody after the event."""

    id: int
    cost: int
    title: str | None
    content: NotRequired[str | None]


@with_more
class ChallengeSeen(ChallengeShown):
    """A challenge as one caller sees it; its kind may add what it shows to players, as hills do.

    ``solves`` is null where scores or accounts are not shown to the caller, ``ratings`` where they are not public.
    ``attempts`` are those of the caller's account that were compared, ``rating`` is the caller's own.
    """

    solves: int | None
    solved_by_me: bool
    attempts: int
    files: list[str]
    tags: list[str]
    hints: list[HintOffered]
    module_id: int | None
    rating: Rating | None
    ratings: Ratings | None
    solution_id: int | None
    solution_state: str


@with_more
class ChallengeDetail(ChallengeSeen):
    """The same with its window as HTML, and what its kind adds: ``koth`` is how a hill stands."""

    view: str
    koth: NotRequired[HillSeen]


class PlaceholderDetail(ChallengePlaceholder):
    """A challenge whose prerequisites are missing, alone."""

    logic: None
    solution_id: None


class Glance(msgspec.Struct, frozen=True):
    """Who looks, and when.

    ``counts`` says whether scores and accounts are visible to them, ``next_id`` is the challenge that may be suggested
    to them next.
    """

    own: Own
    rating: Rating | None
    is_admin: bool
    counts: bool
    next_id: int | None
    now: datetime


def shown_challenge(
    entry: Entry, competition: Competition, glance: Glance, file_url: Callable[[File], str]
) -> ChallengeSeen:
    """The detail without ``view``; counts stand still at the freeze for administrators as well, values for players."""
    own, is_admin, now = glance.own, glance.is_admin, glance.now
    kind = challenge_types()[entry.type]
    settings = entry.settings
    if not is_admin:
        settings = {name: value for name, value in settings.items() if name in _OPEN_SETTINGS}
    solved = entry.id in own.solved
    rating = glance.rating
    rated = competition.text("challenge_ratings", "public")
    numbers = entry.live if is_admin else entry.public
    state = solution_state(entry.solution)
    return {
        **readout({**entry.columns, "value": numbers.value, "next_id": glance.next_id}, kind, settings),
        "solves": entry.public.solves if glance.counts else None,
        "solved_by_me": solved,
        "attempts": own.attempts_at(entry.id, now),
        "files": [file_url(file) for file in entry.files],
        "tags": list(entry.tags),
        "hints": _hints(entry, own, revealed=competition.ended(now)),
        "module_id": entry.columns["module_id"],
        "rating": None if rating is None or rated == "disabled" else rating,
        "ratings": numbers.ratings if rated == "public" else None,
        "solution_id": visible_solution(entry.solution, solved=solved),
        "solution_state": state,
    }


def solution_state(solution: Solution | None) -> str:
    """The state of a solution, ``hidden`` where there is none."""
    return "hidden" if solution is None else solution.state


def visible_solution(solution: Solution | None, *, solved: bool) -> int | None:
    """The id of a solution that the caller may ask for."""
    if solution is None:
        return None
    return solution.id if solution.state == "visible" or (solution.state == "solved" and solved) else None


def _hints(entry: Entry, own: Own, *, revealed: bool) -> list[HintOffered]:
    shown: list[HintOffered] = []
    for hint in entry.hints:
        line: HintOffered = {"id": hint.id, "cost": hint.cost, "title": hint.title}
        if revealed or hint.id in own.hints:
            line["content"] = hint.content
        shown.append(line)
    return shown
