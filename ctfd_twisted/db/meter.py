"""What a database tells of its transactions, where somebody counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from ctfd_twisted.db.queue import Queue, Settle


class Meter(Protocol):
    """Counts transactions and what is built of them; without one nothing is counted, and nothing paid."""

    def put(self, queue: Queue, fn: Callable[..., Any], work: Callable[[], Any], settle: Settle) -> Deferred[Any]:
        """Put *work*, the transaction *fn*, into *queue* as ``queue.put`` does, and count what comes of it."""

    def counted(self, fn: Callable[..., Any], waited: float, took: float | None, outcome: tuple[bool, Any]) -> None:
        """Count one of those that the transaction *fn* was made for; seconds, and what its caller is told.

        It took None where it was refused before it waited.
        """

    def built(self, build: Callable[..., Any], *, grown: bool = False) -> None:
        """Count that what *build* makes and is remembered is made, or brought up to date where it is *grown*."""
