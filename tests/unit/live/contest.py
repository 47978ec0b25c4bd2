"""A competition with challenges that players solve, and listeners to its channels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.live.feed import Feed
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.service import make_platform
from ctfd_twisted.testing import Client, MemoryPlatform
from tests.unit.live.ear import Ear, Heard


class Contest:
    """A platform whose events are told, an administrator, and challenges whose flags are their names."""

    def __init__(self, mode: str = "users", **settings: Any) -> None:
        self.platform = MemoryPlatform().setup(mode, **settings)
        self.services = [one for one in self.platform.platform.services if isinstance(one, Hub | Feed)]
        for service in self.services:
            service.startService()
        self.admin = self.platform.admin()

    @property
    def hub(self) -> Hub:
        """Where its streams are."""
        return next(service for service in self.services if isinstance(service, Hub))

    def another_node(self) -> Any:
        """Another node over the same database, that has just begun."""
        here = self.platform
        db = Database(here.db.engines, Bus(), write=start_inline, read=start_inline)
        reaches = here.webhook_reach, here.hill_reach
        made = make_platform(
            here.settings, here.clock, db, start_inline, *reaches, start_inline, here.oauth_reach
        )  # fmt: skip
        services = [one for one in made.services if isinstance(one, Hub | Feed)]
        for service in services:
            service.startService()
        self.services += services
        return SimpleNamespace(platform=made, clock=here.clock)

    def close(self) -> None:
        """End it."""
        for service in self.services:
            if service.running:
                service.stopService()
        self.platform.close()

    def challenge(self, name: str, **fields: Any) -> int:
        """A visible challenge; its id."""
        body = {"name": name, "category": "c", "value": 100, "type": "standard", "state": "visible", **fields}
        number = int(self.admin.post("/api/v1/challenges", body).data["id"])
        self.admin.post("/api/v1/flags", {"challenge_id": number, "type": "static", "content": name})
        return number

    def solve(self, who: Client, number: int, name: str) -> None:
        """Answer a challenge right."""
        answer = who.post("/api/v1/challenges/attempt", {"challenge_id": number, "submission": name})
        assert answer.data["status"] == "correct"

    def pass_time(self, seconds: float = 1.0) -> None:
        """Let what is gathered be told."""
        for _ in range(int(seconds * 4)):
            self.platform.clock.advance(0.25)

    def listen(self, who: Client, channels: str, since: str | None = None, **options: Any) -> Ear:
        """Somebody listens to *channels*."""
        headers = {} if since is None else {"Last-Event-ID": since}
        return Ear(self.platform, who, path=f"/events?channels={channels}", headers=headers, **options)

    def later(self, ear: Ear) -> list[Heard]:
        """What *ear* hears of what has just happened."""
        self.pass_time()
        return ear.heard()


def account(who: Client) -> int:
    """The id of a player."""
    return int(who.get("/api/v1/users/me").data["id"])
