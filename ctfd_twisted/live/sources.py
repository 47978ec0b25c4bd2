"""What there is to tell on a channel: how it is read, and what brings somebody up to date who was told up to a place.

A source remembers what the streams of this node were told last, so whoever begins to listen is told the rest out of
memory, in the same turn of the reactor: nothing can come between, and nothing is told twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ctfd_twisted.live.frames import frame
from ctfd_twisted.live.views import Step, Steps, View


class Source(Protocol):
    """One channel."""

    @property
    def name(self) -> str:
        """The channel's."""

    def heard(self, topics: frozenset[str]) -> bool:
        """Whether a commit that tells *topics* may have changed what there is to tell."""

    def look_anew(self) -> None:
        """What anybody may see may have changed, by the time of day if by nothing else."""

    async def read(self) -> Steps:
        """Read what is new; it counts as told from then on."""

    def place(self, view: View) -> str:
        """How far those of *view* were told."""

    def since(self, place: str | None, view: View) -> Sequence[Step]:
        """What those of *view* have still to be told who were told up to *place*; with None they begin now."""


def snapshot(channel: str, place: str, what: str, items: bytes | None) -> Step:
    """The event that replaces all that a client knows of *channel*: *items* under the name *what*.

    Where the channel shows nothing at present, *items* is None.
    """
    seen = b"false" if items is None else b"true"
    data = b'{"channel":"%s","visible":%s,"%s":%s}' % (channel.encode(), seen, what.encode(), items or b"[]")
    return Step(place, frame("snapshot", data))
