"""A platform with a hill that is polled, an administrator and two players."""

from __future__ import annotations

from typing import Any

from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.handlers import hill_poller
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.fake_agent import FakeAgent

HILL = {
    "name": "The Hill",
    "category": "crown",
    "type": "koth",
    "state": "visible",
    "connection_info": "http://t:5000/",
}
SETTINGS = {"url": "http://hill:31337/status", "interval": 60, "reward": 10, "api_key": "sesame"}


class Arena:
    """A platform with one hill that is polled, an admin, and two players."""

    def __init__(self, mode: str = "users", **columns: Any) -> None:
        self.platform = MemoryPlatform().setup(mode)
        self.agent = FakeAgent("ada", key="sesame")
        self.platform.hill_reach.agents["hill"] = self.agent
        self.admin = self.platform.admin()
        self.ada, self.bob = self.platform.player("ada", **columns), self.platform.player("bob", **columns)
        self.hill = int(self.admin.post("/api/v1/challenges", {**HILL, **SETTINGS}).data["id"])
        client = HillClient(self.platform.clock, self.platform.hill_reach)
        self.poller = hill_poller(self.platform.clock, self.platform.db, client, node="n", prefix="Service-Webhook")

    def play(self, minutes: int) -> None:
        if not self.poller.running:
            self.poller.startService()
        for _ in range(minutes * 12):
            self.platform.clock.advance(5)

    def get(self, path: str = "", who: Client | None = None) -> Any:
        return (who or self.ada).get(f"/api/v1/koth{path}").data
