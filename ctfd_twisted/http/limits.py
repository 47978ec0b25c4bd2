"""Rate limits per address and endpoint, as CTFd counts them: every counted request restarts the window."""

from __future__ import annotations

from collections import OrderedDict

from ctfd_twisted.errors import TooMany

#: So many times an endpoint's limit is what one address may ask for all accounts together: hundreds of players in a
#: hall share one. The setting ``rate_limit_shared_address`` is another number.
SHARED = 30
#: So many counters are kept; the ones that were counted longest ago go first.
KEPT = 50_000


class RateLimits:
    """Counters in memory. A node that restarts forgets them, which forgives at most one window."""

    def __init__(self) -> None:
        self._counters: OrderedDict[tuple[str, ...], tuple[int, float]] = OrderedDict()

    def count(self, key: tuple[str, ...], limit: int, interval: int, seconds: float) -> None:
        """Count one request at the instant *seconds*; raises ``TooMany``, and counts nothing, after *limit* of them.

        *key* names the endpoint and who asks: an address, or an account at one.
        """
        counted, until = self._counters.get(key, (0, 0.0))
        if seconds >= until:
            counted = 0
        if counted >= limit:
            raise TooMany(limit, interval, max(1, int(until - seconds) + 1))
        self._counters[key] = (counted + 1, seconds + interval)
        self._counters.move_to_end(key)
        if len(self._counters) > KEPT:
            self._counters.popitem(last=False)
