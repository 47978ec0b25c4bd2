"""Gates: what a route asks of its caller before the handler runs.

A gate passes by returning and refuses by raising. A route names its gates in the order in which they are asked; every
route names at least one, so that what is open to all says so (:data:`ANYONE`).
"""

from __future__ import annotations

from collections.abc import Callable

from ctfd_twisted.errors import Forbidden, NotFound
from ctfd_twisted.http.answers import RedirectTo
from ctfd_twisted.http.call import Call

Gate = Callable[[Call], None]


def ANYONE(call: Call) -> None:  # noqa: N802 - gates read as words
    """Everybody passes."""


def AUTHED(call: Call) -> None:  # noqa: N802 - gates read as words
    """Whoever is logged in passes."""
    call.require_player()


def ADMIN(call: Call) -> None:  # noqa: N802 - gates read as words
    """Administrators pass."""
    if not call.is_admin:
        raise call.to_login()


def VERIFIED(call: Call) -> None:  # noqa: N802 - gates read as words
    """While addresses must be verified, a player needs a verified one; anonymous callers and administrators pass."""
    player = call.player
    if player is None or player.is_admin or player.verified or not call.competition.truthy("verify_emails"):
        return
    raise Forbidden() if call.wants_json else RedirectTo(call.url("/confirm"))


def DURING_EVENT(call: Call) -> None:  # noqa: N802 - gates read as words
    """The competition runs, or may still be viewed after its end."""
    competition, now = call.competition, call.now
    if call.is_admin or competition.running(now):
        return
    if competition.ended(now):
        if competition.view_after:
            return
        raise Forbidden(f"{competition.name} has ended")
    if competition.teams and (call.player is None or call.player.team_id is None):
        raise RedirectTo(call.with_next("/team"))
    raise Forbidden(f"{competition.name} has not started yet")


def CHALLENGES_VISIBLE(call: Call) -> None:  # noqa: N802 - gates read as words
    """``challenge_visibility`` lets the caller see challenges."""
    visibility = call.competition.challenge_visibility
    if visibility == "public" or call.is_admin:
        return
    if visibility == "private":
        call.require_player()
        return
    if call.player is None:
        raise RedirectTo(call.with_next("/login"))
    raise Forbidden() if call.wants_json else Forbidden("Challenge Visibility is set to Admins Only")


def SCORES_VISIBLE(call: Call) -> None:  # noqa: N802 - gates read as words
    """``score_visibility`` lets the caller see scores."""
    visibility = call.competition.score_visibility
    if visibility == "public" or call.is_admin:
        return
    if visibility == "private":
        call.require_player()
    elif visibility == "hidden":
        raise Forbidden() if call.wants_json else Forbidden("Scores are currently hidden")
    else:
        raise NotFound


def ACCOUNTS_VISIBLE(call: Call) -> None:  # noqa: N802 - gates read as words
    """``account_visibility`` lets the caller see accounts."""
    visibility = call.competition.account_visibility
    if visibility == "public" or call.is_admin:
        return
    if visibility == "private":
        call.require_player()
    else:
        raise NotFound


def TEAMS_MODE(call: Call) -> None:  # noqa: N802 - gates read as words
    """Teams play; in users mode there is nothing here."""
    if not call.competition.teams:
        raise NotFound


def TEAM_REQUIRED(call: Call) -> None:  # noqa: N802 - gates read as words
    """The caller is in a team."""
    TEAMS_MODE(call)
    if call.require_player().team_id is None:
        raise Forbidden() if call.wants_json else RedirectTo(call.with_next("/team"))
