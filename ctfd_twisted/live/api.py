"""``/events``: what happens, told as it happens, to everybody who is logged in."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from ctfd_twisted.errors import Forbidden
from ctfd_twisted.http.answers import Answer, RedirectTo, StreamedAnswer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.live.feed import Feed
from ctfd_twisted.live.hub import Asked, Hub
from ctfd_twisted.live.views import PLAIN, read_cursor, view_of, wanted

_EVENTS: Final = "text/event-stream"
#: A proxy that collects answers before it passes them on would keep every event for itself.
_AS_THEY_COME: Final = ((b"Cache-Control", b"no-cache"), (b"X-Accel-Buffering", b"no"))


def LISTENING(call: Call) -> None:  # noqa: N802 - gates read as words
    """Whoever is logged in passes; a program that would not understand a login page is not led to one."""
    if call.player is None:
        accepted = parse_accept_header(call.request.getHeader("accept"), MIMEAccept)
        raise Forbidden if call.wants_json or accepted.best == _EVENTS else RedirectTo(call.with_next("/login"))


#: Browsers that get this do not ask again.
_OFF: Final = Answer(b"", 204)


class EventsApi:
    """The stream of events, where the deployment has not turned it off."""

    routes = Routes()

    def __init__(self, hub: Hub, feed: Feed, *, enabled: bool) -> None:
        self._hub = hub
        self._feed = feed
        self._enabled = enabled

    @routes.get("/events", LISTENING, limit=(150, 60))
    def listen(self, call: Call) -> Any:
        """Pings at least every 5 s, and each new notification; what was before is at ``/api/v1/notifications``.

        With ``channels`` what docs/events.md says.
        """
        if not self._enabled:
            return _OFF
        bits = wanted(call.argument("channels"))
        self._hub.check(call.require_player().id, call.address)
        return self._stream(call, bits) if bits == PLAIN else self._later(call, bits)

    async def _later(self, call: Call, bits: int) -> Answer:
        await self._feed.settled(bits)
        self._hub.check(call.require_player().id, call.address)
        return self._stream(call, bits)

    def _stream(self, call: Call, bits: int) -> Answer:
        player = call.require_player()
        said = call.request.getHeader("last-event-id") or call.argument("last_event_id")
        asked = Asked(
            player_id=player.id,
            address=call.address,
            sid=call.sid or "",
            bits=bits,
            view=view_of(player, call.competition),
            cursor=read_cursor(said),
        )
        return StreamedAnswer(
            b"",
            content_type=_EVENTS,
            headers=_AS_THEY_COME,
            length=0,
            send=partial(self._hub.stream, asked),
            drop=lambda: None,
        )
