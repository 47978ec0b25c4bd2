"""The list of challenges as each caller sees it, put together from pieces of JSON that were encoded once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
from msgspec import UNSET, UnsetType

from ctfd_twisted.challenges.catalogue import Catalogue, Entry, Numbers
from ctfd_twisted.challenges.finished import FinishedList, Piece, make_piece
from ctfd_twisted.challenges.memo import Memo
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.rules import SECRET_TEXT, Reach, Viewer, like, reach
from ctfd_twisted.http.zipped import Runs

_encode = msgspec.json.Encoder().encode


class TagListed(TypedDict):
    """A tag as it stands in the list of challenges."""

    value: str


class ChallengePlaceholder(TypedDict):
    """A challenge whose prerequisites are missing; ``type`` is ``hidden``.

    Name and category are ``???`` and the value is 0, unless the challenge is announced by a preview.
    """

    id: int
    type: str
    name: str | None
    value: int | None
    solves: int | None
    solved_by_me: bool
    category: str | None
    tags: list[TagListed]
    template: str
    script: str


class ChallengeListed(ChallengePlaceholder):
    """A challenge in the list; one whose prerequisites are missing has type ``hidden``, no position and no module.

    ``solves`` is null where scores or accounts are not shown to the caller.
    """

    position: NotRequired[int]
    module_id: NotRequired[int | None]


class AskedView(msgspec.Struct, frozen=True):
    """With ``admin`` an administrator sees everything, as it is now."""

    view: str = ""


class ListFilter(msgspec.Struct, frozen=True):
    """Which challenges are asked for; what a caller does not see of a challenge is never compared with anything."""

    name: str | UnsetType = UNSET
    max_attempts: int | UnsetType = UNSET
    value: int | UnsetType = UNSET
    category: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["name", "description", "category", "type", "state"] | UnsetType = UNSET

    @property
    def wanted(self) -> dict[str, Any]:
        """The columns that must be equal to something."""
        names = ("name", "max_attempts", "value", "category", "type", "state")
        return {name: value for name in names if (value := getattr(self, name)) is not UNSET}

    @property
    def is_empty(self) -> bool:
        """Whether everything is asked for."""
        return not self.wanted and not (self.q and self.field)

    def admits(self, shown: Mapping[str, Any]) -> bool:
        """Whether a challenge of which *shown* is seen is among them."""
        if any(name not in shown or shown[name] != value for name, value in self.wanted.items()):
            return False
        if self.q and self.field:
            return self.field in shown and like(self.q, str(shown[self.field] or ""))
        return True


class _Line(NamedTuple):
    """One challenge with its pieces: ``full`` without and with "solved by me"."""

    entry: Entry
    order: tuple[bool, int, int, int]
    full: tuple[Piece, Piece]
    #: Visible to everybody at any time, so that nothing has to be asked.
    plain: bool


class Listing:
    """The catalogue's challenges in order, encoded for callers who see the counts of solves or do not."""

    def __init__(
        self, catalogue: Catalogue, *, counts: bool, everything: bool = False, before: Listing | None = None
    ) -> None:
        """With *everything*, as administrators see it: all challenges, at present values.

        What has stayed the same since the listing *before*, of the same kind, is taken over from it.
        """
        self._catalogue = catalogue
        self._everything = everything
        kept = {} if before is None else before.lines_for(catalogue)
        lines = [
            kept.get(id(entry)) or self._line(entry, counts=counts)
            for entry in catalogue.entries.values()
            if entry.installed
        ]
        self._lines = sorted(lines, key=lambda line: line.order)
        self._runs: Runs = Runs() if before is None else before._runs  # noqa: SLF001 - of this very class
        #: Finished lists by all that makes them differ.
        self._finished: Memo[FinishedList] = Memo(lambda finished: finished.weight)

    def lines_for(self, catalogue: Catalogue) -> dict[int, _Line]:
        """The lines by the identities of their entries; none where challenges came or went, on which lines depend."""
        if catalogue.entries.keys() != self._catalogue.entries.keys():
            return {}
        return {id(line.entry): line for line in self._lines}

    def _line(self, entry: Entry, *, counts: bool) -> _Line:
        numbers = entry.live if self._everything else entry.public
        without, with_ = (
            make_piece(_encode(_full(entry, numbers, counts=counts, solved=solved)), entry.id)
            for solved in (False, True)
        )
        gate = entry.gate
        plain = self._everything or (
            gate.state == "visible"
            and gate.scheduled_at is None
            and gate.module_id is None
            and not gate.prerequisites & self._catalogue.entries.keys()
        )
        return _Line(entry, entry.order(numbers.value), (without, with_), plain)

    def seen_by(self, viewer: Viewer, now: datetime, wanted: ListFilter | None = None) -> FinishedList:
        """The list for *viewer* at *now*, in its envelope."""
        if wanted is not None and not wanted.is_empty:
            return FinishedList(self._pieces(viewer, now, wanted.admits), self._runs)
        finished = self._finished.get(viewer, (), now)
        if finished is None:
            finished = FinishedList(self._pieces(viewer, now, None), self._runs)
            self._finished.put(viewer, (), self._catalogue.next_release(now), finished)
        return finished

    def _pieces(self, viewer: Viewer, now: datetime, admits: Callable[[Mapping[str, Any]], bool] | None) -> list[Piece]:
        solved, existing = viewer.solved, self._catalogue.entries
        chosen: list[tuple[tuple[bool, int, int, int], Piece]] = []
        moved = False
        for entry, order, full, plain in self._lines:
            seen = Reach.OPEN if plain else reach(entry.gate, now, viewer, existing)
            if not seen.exists or (admits is not None and not admits(self._shown(entry, seen))):
                continue
            if seen is Reach.OPEN:
                chosen.append((order, full[entry.id in solved]))
            elif seen is Reach.PREVIEW:
                chosen.append((order, make_piece(_encode(placeholder(entry, seen)), entry.id)))
            else:
                # It stands where a challenge of no value stands, since its place would tell its value.
                chosen.append((entry.order(0), make_piece(_encode(placeholder(entry, seen)), entry.id)))
                moved = True
        if moved:
            chosen.sort()
        return [piece for _, piece in chosen]

    def _shown(self, entry: Entry, seen: Reach) -> Mapping[str, Any]:
        if seen is not Reach.OPEN:
            return {name: value for name, value in placeholder(entry, seen).items() if name != "type"}
        numbers = entry.live if self._everything else entry.public
        return {**entry.columns, "type": entry.type, "value": numbers.value}


def _full(entry: Entry, numbers: Numbers, *, counts: bool, solved: bool) -> ChallengeListed:
    kind = challenge_types()[entry.type]
    columns = entry.columns
    return {
        "id": entry.id,
        "type": kind.id,
        "name": columns["name"],
        "value": numbers.value,
        "position": columns["position"],
        "solves": numbers.solves if counts else None,
        "solved_by_me": solved,
        "category": columns["category"],
        "tags": [{"value": tag} for tag in entry.tags],
        "template": kind.templates["view"],
        "script": kind.scripts["view"],
        "module_id": columns["module_id"],
    }


def placeholder(entry: Entry, seen: Reach) -> ChallengePlaceholder:
    """What is shown of a challenge whose prerequisites are missing: ``seen`` is ``PREVIEW`` or ``PLACEHOLDER``."""
    preview = seen is Reach.PREVIEW
    return {
        "id": entry.id,
        "type": "hidden",
        "name": entry.columns["name"] if preview else SECRET_TEXT,
        "value": entry.public.value if preview else 0,
        "solves": None,
        "solved_by_me": False,
        "category": entry.columns["category"] if preview else SECRET_TEXT,
        "tags": [{"value": tag} for tag in entry.tags] if preview else [],
        "template": "",
        "script": "",
    }
