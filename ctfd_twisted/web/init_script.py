"""The ``init`` script of every page: what scripts and scrapers read (the layout is part of the contract). Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.competition.rules import Competition

EVENT_SOUNDS: Final = ("sounds/notification.webm", "sounds/notification.mp3")

# Inside a script element "<" could end it, and U+2028 ends a line in older engines.
_ESCAPES: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def in_script(value: object) -> str:
    """*value* as JSON that may stand inside a script element."""
    return msgspec.json.encode(value).decode().translate(_ESCAPES)


def theme_settings(competition: Competition) -> object:
    """The setting ``theme_settings`` as JSON; None where it is unset."""
    text = competition.text("theme_settings")
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {"error": "invalid theme_settings"}


def public_init(
    *, root: str, nonce: str, player: Player | None, competition: Competition, sounds: tuple[str, ...]
) -> str:
    """The assignment to ``window.init`` of a public page."""
    who = _who(player)
    show = in_script
    return f"""window.init = {{
    'urlRoot': {show(root)},
    'csrfNonce': {show(nonce)},
    'userMode': {show(competition.mode)},
    'userId': {who["id"]},
    'userName': {show(who["name"])}, 'userEmail': {show(who["email"])}, 'userVerified': {show(who["verified"])},
    'teamId': {show(who["team_id"])}, 'teamName': {show(who["team_name"])},
    'start': {show(competition.start)}, 'end': {show(competition.end)},
    'themeSettings': {show(theme_settings(competition))},
    'eventSounds': {show(sounds)},
}}"""


def admin_init(*, root: str, nonce: str, player: Player | None, competition: Competition) -> str:
    """The declaration of ``init`` of an administrators' page."""
    who = _who(player)
    show = in_script
    return f"""var init = {{
    'urlRoot': {show(root)},
    'csrfNonce': {show(nonce)},
    'userMode': {show(competition.mode)},
    'userId': {who["id"]},
    'userName': {show(who["name"])}, 'userEmail': {show(who["email"])},
    'teamId': {show(who["team_id"])}, 'teamName': {show(who["team_name"])},
    'start': {show(competition.start)}, 'end': {show(competition.end)},
}}"""


def _who(player: Player | None) -> dict[str, object]:
    if player is None:
        return {"id": 0, "name": None, "email": None, "verified": None, "team_id": None, "team_name": None}
    return {
        "id": player.id,
        "name": player.name,
        "email": player.email,
        "verified": player.verified,
        "team_id": player.team_id,
        "team_name": player.team_name,
    }
