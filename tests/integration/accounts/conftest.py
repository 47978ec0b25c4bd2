"""Real sockets under the real reactor, as the webhooks' tests have them."""

from tests.integration.webhooks.conftest import listening, spin, threads

__all__ = ("listening", "spin", "threads")
