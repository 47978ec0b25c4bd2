"""One challenge as its page shows it, made of what the REST API answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
from markupsafe import Markup

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.web.markdown import rendered


class HintView(msgspec.Struct, frozen=True):
    """One hint; ``content`` is None until it is unlocked."""

    id: int
    title: str
    cost: int
    content: Markup | None


class FileView(msgspec.Struct, frozen=True):
    """One file that is handed out."""

    url: str
    name: str


class Solver(msgspec.Struct, frozen=True):
    """One account that has solved it."""

    name: str
    url: str
    date: str


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """One challenge, opened.

    ``koth`` is what the API shows of a hill, ``standings`` who got what out of it; ``solvers`` is None where they are
    not shown. ``ends_at`` is from when on it takes no answers, in Unix seconds.
    """

    id: int
    name: str
    category: str
    value: int
    solves: int | None
    solved_by_me: bool
    attempts: int
    max_attempts: int
    tags: Sequence[str]
    description: Markup
    attribution: Markup
    connection_info: str
    files: tuple[FileView, ...]
    hints: tuple[HintView, ...]
    koth: Mapping[str, Any] | None
    next_id: int | None = None
    ends_at: int | None = None
    solvers: tuple[Solver, ...] | None = None
    standings: tuple[Mapping[str, Any], ...] = ()


def opened_challenge(
    shown: Mapping[str, Any],
    competition: Competition,
    *,
    known: Iterable[int] = (),
    solvers: Iterable[Mapping[str, Any]] | None = None,
    standings: tuple[Mapping[str, Any], ...] = (),
) -> Opened:
    """The page's view of the detail *shown*; *known* are the challenges that the caller sees in the list."""

    def html(source: str | None) -> Markup:
        return Markup(rendered(source, competition)) if source else Markup()  # noqa: S704 - administrators' text

    next_id = shown["next_id"]
    return Opened(
        id=shown["id"],
        name=shown["name"] or "",
        category=shown["category"] or "",
        value=shown["value"] or 0,
        solves=shown["solves"],
        solved_by_me=shown["solved_by_me"],
        attempts=shown["attempts"],
        max_attempts=shown["max_attempts"] or 0,
        tags=shown["tags"],
        description=html(shown["description"]),
        attribution=html(shown["attribution"]),
        connection_info=shown["connection_info"] or "",
        files=tuple(FileView(url, unquote(urlsplit(url).path).rsplit("/", 1)[-1]) for url in shown["files"]),
        hints=tuple(
            HintView(
                hint["id"], hint["title"] or "", hint["cost"] or 0, html(hint["content"]) if "content" in hint else None
            )
            for hint in shown["hints"]
        ),
        koth=shown.get("koth"),
        next_id=next_id if next_id in set(known) else None,
        ends_at=_epoch(shown["ends_at"]),
        solvers=None if solvers is None else tuple(map(_solver, solvers)),
        standings=standings,
    )


def _epoch(naive: str | None) -> int | None:
    return None if naive is None else int(datetime.fromisoformat(naive).replace(tzinfo=UTC).timestamp())


def _solver(solve: Mapping[str, Any]) -> Solver:
    return Solver(solve["name"] or "", solve["account_url"], datetime.fromisoformat(solve["date"]).isoformat())
