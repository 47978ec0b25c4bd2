"""What the form pages of accounts need of the web interface, and of requests."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, Final, Protocol

from ctfd_twisted.accounts.keys import Keys, new_session_sid
from ctfd_twisted.accounts.redirects import safe_next
from ctfd_twisted.accounts.sessions import Entrance
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call

_FIELD: Final = re.compile(r"fields\[(\d{1,9})\]", re.ASCII)


class Renderer(Protocol):
    """Renders pages; the web interface provides it."""

    def render(self, call: Call, template: str, status: int = 200, **context: Any) -> Answer:
        """Return the page of *template* with *context*; ``errors`` and ``infos`` are lists of sentences."""

    def around(
        self, call: Call, template: str, basis: tuple[Hashable, ...], middle: None = None, **context: Any
    ) -> Answer:
        """Return the same, kept for the caller; all that *context* and the query say is in *basis*."""


def text_of(call: Call, key: str) -> str:
    """Return a field of the form, trimmed; empty where it was not sent."""
    return (call.form(key) or "").strip()


def required_text(call: Call, key: str) -> str:
    """Return a field of the form as it was sent; raises ``Invalid`` (400) where it was not."""
    value = call.form(key)
    if value is None:
        raise Invalid({key: ["Missing data for required field."]})
    return value


def answers_of(call: Call) -> dict[int, str]:
    """Return the form's answers to custom fields (``fields[<id>]``), by field."""
    found = ((_FIELD.fullmatch(key), value) for key, value in call.form_values().items())
    return {int(match[1]): value for match, value in found if match is not None}


def entrance_of(call: Call, keys: Keys, password_hash: str | None) -> Entrance:
    """Return a fresh session for the caller, whose stored password hash is *password_hash*."""
    agent = (call.request.getHeader(b"user-agent") or b"").decode("utf-8", "replace").replace("\0", "")
    return Entrance(new_session_sid(), keys.password_mac(password_hash), call.address, agent, call.sid)


def onward(call: Call, otherwise: str) -> Answer:
    """Redirect to the query's ``next`` where that is safe, else to the path *otherwise*."""
    return redirect(safe_next(call.argument("next"), call.origin) or call.url(otherwise))
