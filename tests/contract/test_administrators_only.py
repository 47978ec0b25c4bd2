"""What is for administrators is for nobody else: every such route, in both modes, for everybody who might ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import teams
from ctfd_twisted.competition.configs_api import ConfigsApi
from ctfd_twisted.content.comments_api import CommentsApi
from ctfd_twisted.content.notices_api import NoticesApi
from ctfd_twisted.content.pages_api import PagesApi
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.files.api import FilesApi
from ctfd_twisted.files.upload_api import UploadApi
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Route
from ctfd_twisted.koth.admin_api import HillsAdminApi
from ctfd_twisted.mail.api import MailApi
from ctfd_twisted.scoring.api import AwardsApi
from ctfd_twisted.scoring.statistics_api import StatisticsApi
from ctfd_twisted.scoring.submissions_api import SubmissionsApi
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_team
from ctfd_twisted.web.admin_config import AdminConfigPages
from ctfd_twisted.webhooks.api import WebhookApi
from ctfd_twisted.webhooks.delivery_api import DeliveryApi

ROOMS = (
    *(AwardsApi, SubmissionsApi, StatisticsApi, PagesApi, CommentsApi, ConfigsApi, HillsAdminApi, WebhookApi),
    *(DeliveryApi, FilesApi, UploadApi, MailApi, AdminConfigPages),
)
#: Beside what everybody may read.
MIXED = (NoticesApi,)
ROUTES = [route for room in (*ROOMS, *MIXED) for route in room.routes._routes]
ADMINS = [route for route in ROUTES if ADMIN in route.gates]


@pytest.fixture(scope="module", params=["users", "teams"])
def platform(request: pytest.FixtureRequest) -> Iterator[MemoryPlatform]:
    """A competition in either mode."""
    platform = MemoryPlatform().setup(request.param)
    yield platform
    platform.close()


@pytest.fixture(scope="module")
def players(platform: MemoryPlatform) -> dict[str, Client]:
    """Somebody without a team, a member and their captain."""

    def lead(conn: Connection) -> None:
        conn.execute(update(teams).values(captain_id=2))
        touch(conn, EVERYTHING)

    team = platform.run(a_team)
    admin = platform.admin()
    captain = platform.player("captain", team_id=team)
    platform.run(lead)
    assert captain.get("/api/v1/users/me").data["id"] == 2
    return {
        "player": platform.player("player"),
        "member": platform.player("member", team_id=team),
        "captain": captain,
        "admin": admin,
    }


def path_of(route: Route) -> str:
    return re.sub(r"<(?:int:)?(\w+)>", "1", route.path)


def test_all_of_these_rooms_but_what_everybody_reads_is_for_administrators() -> None:
    open_to_others = {(route.method, route.path) for room in ROOMS for route in room.routes._routes} - {
        (route.method, route.path) for route in ADMINS
    }
    assert open_to_others == set()
    assert {
        (route.method, path_of(route)) for room in MIXED for route in room.routes._routes if route not in ADMINS
    } == {
        ("GET", "/api/v1/notifications"),
        ("GET", "/api/v1/notifications/1"),
    }


@pytest.mark.parametrize("route", ADMINS, ids=lambda route: f"{route.method} {route.path}")
def test_nobody_else_gets_in(platform: MemoryPlatform, players: dict[str, Client], route: Route) -> None:
    path = path_of(route)
    body: dict[str, Any] = {} if route.method == "GET" else {"json": {}}
    for who in ("player", "member", "captain"):
        assert players[who].request(route.method, path, **body).status == 403, who
    stranger = platform.client()
    assert stranger.request(route.method, path, content_type="application/json", **body).status == 403
    if route.method == "GET":
        assert stranger.get(path).location.startswith("/login?next=")


@pytest.mark.parametrize("route", ADMINS, ids=lambda route: f"{route.method} {route.path}")
def test_administrators_do(players: dict[str, Client], route: Route) -> None:
    # What is not there, and an empty body, are told to somebody who has come in.
    body: dict[str, Any] = {} if route.method == "GET" else {"json": {}}
    assert players["admin"].request(route.method, path_of(route), **body).status not in {302, 401, 403}
