"""The administrators' page of the competition's settings. What it changes goes through the REST API."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from ctfd_twisted.competition.configs_store import ConfigFilter, list_configs
from ctfd_twisted.competition.rules import read_value
from ctfd_twisted.db.database import Database
from ctfd_twisted.files.pictures import LARGEST_PICTURE
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.config_fields import SECTIONS, Setting
from ctfd_twisted.web.pages import Pages

_SECRET: Final = "secret"  # noqa: S105 - the name of a kind


class AdminConfigPages:
    """``/admin/config``."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages) -> None:
        self._db = db
        self._pages = pages

    @routes.get("/admin/config", ADMIN)
    async def config(self, call: Call) -> Answer:
        """Every setting as it is stored, but for secrets."""
        stored = await self._db.read(read_shown)
        return self._pages.render(
            call,
            "admin/config.html",
            sections=SECTIONS,
            shown={setting.key: _shown(setting, stored) for section in SECTIONS for setting in section.settings},
            own_address=call.require_player().email or "",
            largest=LARGEST_PICTURE,
        )

    @routes.post("/admin/config", ADMIN)
    async def config_again(self, call: Call) -> Answer:
        """The same: a form that is sent without a script changes nothing."""
        return await self.config(call)


def read_shown(conn: Connection) -> dict[str, str]:
    """The texts of all settings that are no secrets, by their keys; of one with several rows, the oldest."""
    secrets = {setting.key for section in SECTIONS for setting in section.settings if setting.kind == _SECRET}
    rows = reversed(list_configs(conn, ConfigFilter()))
    return {row["key"]: row["value"] or "" for row in rows if row["key"] is not None and row["key"] not in secrets}


def _shown(setting: Setting, stored: dict[str, str]) -> str:
    text = stored.get(setting.key) or setting.default
    if setting.kind == "switch":
        # Stored by the setup as "true", by programs as "1".
        return "true" if read_value(text) else ""
    return text
