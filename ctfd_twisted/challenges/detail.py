"""One challenge as one caller sees it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from ctfd_twisted.challenges.catalogue import Entry, File, Solution
from ctfd_twisted.challenges.own import Own
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.store import readout
from ctfd_twisted.competition.rules import Competition

#: Of a kind's settings, those that every caller may read, because CTFd's clients do.
_OPEN_SETTINGS: Final = frozenset({"initial", "minimum", "decay", "function"})


class Glance(msgspec.Struct, frozen=True):
    """Who looks, and when.

    ``counts`` says whether scores and accounts are visible to them, ``next_id`` is the challenge that may be suggested
    to them next.
    """

    own: Own
    is_admin: bool
    counts: bool
    next_id: int | None
    now: datetime


def shown_challenge(
    entry: Entry, competition: Competition, glance: Glance, file_url: Callable[[File], str]
) -> dict[str, Any]:
    """The detail without ``view``; counts stand still at the freeze for administrators as well, values for players."""
    own, is_admin, now = glance.own, glance.is_admin, glance.now
    kind = challenge_types()[entry.type]
    settings = entry.settings
    if not is_admin:
        settings = {name: value for name, value in settings.items() if name in _OPEN_SETTINGS}
    solved = entry.id in own.solved
    rating = own.ratings.get(entry.id)
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


def _hints(entry: Entry, own: Own, *, revealed: bool) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    for hint in entry.hints:
        line: dict[str, Any] = {"id": hint.id, "cost": hint.cost, "title": hint.title}
        if revealed or hint.id in own.hints:
            line["content"] = hint.content
        shown.append(line)
    return shown
