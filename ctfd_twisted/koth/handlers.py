"""All parts of king of the hill, for the one place where the platform is put together."""

from __future__ import annotations

from twisted.internet.interfaces import IReactorTime

from ctfd_twisted.challenges.view import Views
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.koth.admin_api import HillsAdminApi
from ctfd_twisted.koth.api import HillsApi
from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.office import Office, Ticked
from ctfd_twisted.koth.poller import HillPoller


def hill_handlers(db: Database, reader: Views, client: HillClient) -> list[HasRoutes]:
    """Every class of routes about hills; *client* is what probes ask with."""
    return [HillsApi(db, reader), HillsAdminApi(db, client)]


def hill_poller(
    clock: IReactorTime, db: Database, client: HillClient, *, node: str, prefix: str, ticked: Ticked | None = None
) -> HillPoller:
    """The service that polls, on the node called *node*; *prefix* is that of the webhooks' headers."""
    return HillPoller(Office(clock, db, client, holder=node, prefix=prefix, ticked=ticked))
