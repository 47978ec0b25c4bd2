"""All handlers of webhooks, for the one place where the platform is put together."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from ctfd_twisted.db.database import Database
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.webhooks.api import WebhookApi
from ctfd_twisted.webhooks.client import WebhookClient
from ctfd_twisted.webhooks.delivery_api import DeliveryApi


def webhook_handlers(clock: IReactorTime, db: Database, client: WebhookClient) -> list[HasRoutes]:
    """Every class of routes about webhooks."""
    return [WebhookApi(clock, db, client), DeliveryApi(db)]
