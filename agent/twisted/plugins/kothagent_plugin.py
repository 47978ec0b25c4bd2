"""Makes `twistd kothagent` known. Imports nothing of the agent, so that `twistd --help` stays quick and whole."""

from twisted.application.service import ServiceMaker

koth_agent = ServiceMaker(
    "King-of-the-Hill agent",
    "koth_agent.tap",
    "Says who holds this host, for a King-of-the-Hill challenge",
    "kothagent",
)
