"""The kind of challenge that is held, not solved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sqlalchemy import Connection
from zope.interface import implementer

from ctfd_twisted.challenges.forms import FormField
from ctfd_twisted.challenges.judging import Trial, Verdict
from ctfd_twisted.interfaces import IChallengeType
from ctfd_twisted.koth.boards import read_hills
from ctfd_twisted.koth.pem import check_pair, check_pem
from ctfd_twisted.koth.settings import HillSettings, read_settings
from ctfd_twisted.koth.settings_shown import readout
from ctfd_twisted.koth.store import SETTINGS, read_settings_of, read_token, write_settings
from ctfd_twisted.koth.views import HillSeen, shown_detail

if TYPE_CHECKING:
    from ctfd_twisted.accounts.identity import Player
    from ctfd_twisted.competition.rules import Competition

NO_FLAG: Final = Verdict(
    "incorrect",
    "This challenge takes no flag. Take over the target and make its owner your hill token or your name: the hill is "
    "asked at intervals who holds it, and pays for each time that it is you.",
)


def checked(fields: Mapping[str, object], present: HillSettings | None = None) -> HillSettings:
    """The settings that *fields* gives over *present*; raises ``Invalid`` with a message for every wrong field."""
    settings = read_settings(fields, present, check_pem=check_pem)
    check_pair(settings)
    return settings


@implementer(IChallengeType)
class HillChallenge:
    """A hill: worth its reward for each tick that finds its king; settings in ``ctfp_hills``."""

    id = "koth"
    name = "king of the hill"
    templates: ClassVar[Mapping[str, str]] = {
        page: f"/plugins/koth/assets/{page}.html" for page in ("create", "update", "view")
    }
    scripts: ClassVar[Mapping[str, str]] = {
        page: f"/plugins/koth/assets/{page}.js" for page in ("create", "update", "view")
    }
    default_function = "static"
    adds_detail = True
    form_fields = (
        FormField("url", "URL", "url", required=True, help="the agent's status, such as http://HOST:31337/status"),
        FormField("interval", "Interval", "integer", required=True, default=60, help="seconds between two ticks"),
        FormField("reward", "Reward", "integer", required=True, help="points for each tick held"),
        FormField("api_key", "API key", "secret", help="the agent's key; players never see it"),
        FormField("tls_certificate", "TLS certificate", "multiline", help="PEM: the agent's certificate, or its CA"),
        FormField("client_certificate", "Client certificate", "multiline", help="PEM: ours, for mutual TLS"),
        FormField("client_key", "Client key", "multiline", help="PEM: the key of our certificate"),
        FormField("timeout", "Timeout", "number", help="seconds that one request may take, 5 if empty"),
        FormField("health_gate", "Health gate", "boolean", help="a tick counts only while the health check succeeds"),
        FormField("target_url", "Target URL", "url", help="with the health gate: must answer 2xx or 3xx as well"),
        FormField(
            "jitter", "Jitter", "number", default=0, help="seconds by which ticks are moved, half the interval at most"
        ),
        FormField(
            "confirm_ticks", "Confirm ticks", "integer", default=1, help="a new king earns from this tick in a row on"
        ),
        FormField(
            "hold_bonus", "Hold bonus", "integer", default=0, help="extra points for each full 10 ticks of a reign"
        ),
        FormField("reset_url", "Reset URL", "url", help="POST to it makes the target pristine"),
        FormField("reset_every", "Reset every", "integer", help="minutes between resets; empty: only when asked for"),
    )

    def create(self, conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> None:
        """Store the settings; raises ``Invalid`` with a message for every wrong one."""
        write_settings(conn, now, challenge_id, checked(fields))

    def update(self, conn: Connection, now: datetime, challenge_id: int, fields: Mapping[str, Any]) -> None:
        """Change the settings that are given; raises ``Invalid`` with a message for every wrong one."""
        present = read_settings_of(conn, [challenge_id]).get(challenge_id)
        if present is None and fields.keys().isdisjoint(SETTINGS):
            return  # it has been given this type alone, and is no hill before it has settings
        write_settings(conn, now, challenge_id, checked(fields, present))

    def settings(self, conn: Connection, challenge_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Every setting, the API key and the client's key among them: this is what administrators read."""
        found = read_settings_of(conn, challenge_ids)
        return {challenge_id: dict(readout(settings)) for challenge_id, settings in found.items()}

    def value_after(self, settings: Mapping[str, Any], solves: int) -> int | None:
        """The reward: a hill is not solved."""
        del solves
        return int(settings["reward"])

    def judge(self, trial: Trial) -> Verdict:
        """Incorrect, with a word on how a hill is won."""
        del trial
        return NO_FLAG

    def player_detail(
        self, conn: Connection, now: datetime, competition: Competition, player: Player | None, challenge_id: int
    ) -> dict[str, Any]:
        """The asker's own hill token, and how the hill stands."""
        hill = next(iter(read_hills(conn, teams_mode=competition.teams, only=challenge_id)), None)
        if hill is None:
            return {}
        token = None if player is None else read_token(conn, player, teams_mode=competition.teams)
        seen: HillSeen = {"token": token, **shown_detail(hill, competition, now, player)}
        return {"koth": seen}
