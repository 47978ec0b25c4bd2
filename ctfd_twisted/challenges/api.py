"""What everybody may ask about challenges: the list, one of them, its solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypedDict, cast
from urllib.parse import quote

from ctfd_twisted.accounts.throttle import Throttle
from ctfd_twisted.challenges.attempts import not_installed
from ctfd_twisted.challenges.catalogue import Catalogue, Entry, File
from ctfd_twisted.challenges.detail import (
    ChallengeDetail,
    Glance,
    PlaceholderDetail,
    shown_challenge,
    solution_state,
    visible_solution,
)
from ctfd_twisted.challenges.listing import AskedView, ChallengeListed, ListFilter, Listing, placeholder
from ctfd_twisted.challenges.memo import Memo
from ctfd_twisted.challenges.opened import Look, record_opened
from ctfd_twisted.challenges.reader import ChallengeReader
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.rules import Reach
from ctfd_twisted.challenges.view import View, require_account
from ctfd_twisted.db.behind import WriteBehind
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, NotFound
from ctfd_twisted.http.answers import JSON, Answer, json_answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described, Message
from ctfd_twisted.http.gates import AUTHED, CHALLENGES_VISIBLE, DURING_EVENT, VERIFIED
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.shared import Shared, version_of
from ctfd_twisted.http.sharing import KEPT, SAME, tagged_answer, takes_gzip

#: Draws the challenge's window out of the rest of the detail. What it draws is kept for the caller's session until
#: something of the detail changes.
RenderView = Callable[[Call, Mapping[str, Any]], str]
#: Signs a payload at an instant.
Sign = Callable[[datetime, object], str]

#: What finished details may weigh together, in bytes: those of ten thousand players who each look at one.
_ROOM: Final = 48 * 2**20
#: A detail is answered from memory for so long; the links to files in it are good for an hour.
_FRESH: Final = timedelta(minutes=30)
#: That a player has opened a challenge is noted again after this, in case it was lost; only the first time is kept.
_LOOK_AGAIN: Final = timedelta(hours=1)

_OPEN: Final = (CHALLENGES_VISIBLE, DURING_EVENT, VERIFIED)


class PlaceholderAnswer(TypedDict):
    """What is answered about a challenge whose prerequisites are missing, where it may be known at all."""

    success: Literal[True]
    data: PlaceholderDetail


class SolutionGlimpsed(TypedDict):
    """Whether there is a solution that the caller may ask for, and its state, ``hidden`` where there is none."""

    id: int | None
    state: str


_PLACEHOLDER: Final = Described(200, JSON, PlaceholderAnswer, "Or a placeholder, while its prerequisites are missing.")
_NOT_INSTALLED: Final = Described(500, JSON, Message, "The challenge's kind is not installed.")


class ChallengesApi:
    """The players' side of ``/api/v1/challenges``."""

    routes = Routes()

    def __init__(
        self, db: Database, behind: WriteBehind, reader: ChallengeReader, sign: Sign, render_view: RenderView
    ) -> None:
        self._db = db
        self._reader = reader
        self._sign = sign
        self._render_view = render_view
        self._listings: dict[tuple[bool, bool], tuple[Catalogue, Listing]] = {}
        self._details: Memo[Shared] = Memo(lambda version: version.weight, _ROOM)
        self._looked: Throttle[tuple[int, int]] = Throttle(_LOOK_AGAIN)
        self._looks = behind.notes(record_opened)

    # The list

    @routes.get("/api/v1/challenges", *_OPEN, query=(ListFilter, AskedView), data=list[ChallengeListed], also=(SAME,))
    def list_challenges(self, call: Call) -> Any:
        """Every challenge that the caller may see."""
        require_account(call.player, call.competition)
        wanted = call.query(ListFilter) if call.arguments else None
        view = self._reader.ready(call)
        return self._list_later(call, wanted) if view is None else self._list(call, view, wanted)

    async def _list_later(self, call: Call, wanted: ListFilter | None) -> Answer:
        return self._list(call, await self._reader.get(call), wanted)

    def _list(self, call: Call, view: View, wanted: ListFilter | None) -> Answer:
        everything = wanted is not None and view.is_admin and call.query(AskedView).view == "admin"
        counts = call.sees_scores and call.sees_accounts
        listing = self._listing(view.catalogue, counts=counts, everything=everything)
        return tagged_answer(call, listing.seen_by(view.viewer, call.now, wanted), JSON, KEPT)

    def _listing(self, catalogue: Catalogue, *, counts: bool, everything: bool) -> Listing:
        made_of, listing = self._listings.get((counts, everything), (None, None))
        if made_of is not catalogue or listing is None:
            listing = Listing(catalogue, counts=counts, everything=everything, before=listing)
            self._listings[counts, everything] = (catalogue, listing)
        return listing

    # One challenge

    @routes.get(
        "/api/v1/challenges/<challenge_id>", *_OPEN, data=ChallengeDetail, also=(_PLACEHOLDER, _NOT_INSTALLED, SAME)
    )
    def show_challenge(self, call: Call, challenge_id: str) -> Any:
        """One challenge; a placeholder while its prerequisites are missing and it may be known."""
        view = self._reader.ready(call)
        return self._show_later(call, challenge_id) if view is None else self._show(call, view, challenge_id)

    async def _show_later(self, call: Call, challenge_id: str) -> Answer:
        answer = self._show(call, await self._reader.get(call), challenge_id)
        return answer if isinstance(answer, Answer) else await answer

    def _show(self, call: Call, view: View, challenge_id: str) -> Any:
        entry = view.find(challenge_id)
        reached = view.reach(entry)
        if reached is Reach.LOCKED or not reached.accessible:
            raise NotFound
        if not entry.installed:
            return json_answer({"message": not_installed(entry.type)}, 500)
        if reached is Reach.UNMET:
            raise Forbidden
        require_account(call.player, call.competition)
        if reached is not Reach.OPEN:
            hidden: PlaceholderDetail = {**placeholder(entry, reached), "logic": None, "solution_id": None}
            return ok(hidden)
        if call.player is not None and not call.is_admin:
            self._note_look(call.player.id, entry.id, Look(call.address, call.now))
        if challenge_types()[entry.type].adds_detail:
            return self._detail_later(call, view, entry)
        return self._detail(call, view, entry)

    def _note_look(self, user_id: int, challenge_id: int, look: Look) -> None:
        if self._looked.due((user_id, challenge_id), look.at):
            self._looks.add((user_id, challenge_id), look)

    def _detail(self, call: Call, view: View, entry: Entry) -> Answer:
        counts = call.sees_scores and call.sees_accounts
        player = call.player
        # A window may hold the session's nonce, so it is kept for this session alone.
        key = (call.sid, entry.id, None if player is None else (player.id, player.team_id), call.is_admin, counts)
        basis = (
            call.competition,
            call.competition.ended(call.now),
            _own_of(view, entry),
            entry,
            view.next_after(entry),
        )
        kept = self._details.get(key, basis, call.now)
        if kept is None:
            kept = self._drawn(call, view, entry, {})
            if call.sid == key[0]:
                self._details.put(key, basis, _good_until(call, view, entry), kept)
        return tagged_answer(call, kept, JSON, KEPT)

    async def _detail_later(self, call: Call, view: View, entry: Entry) -> Answer:
        kind = challenge_types()[entry.type]
        added = await self._db.read(kind.player_detail, call.now, call.competition, call.player, entry.id)
        return tagged_answer(call, self._drawn(call, view, entry, added), JSON, KEPT)

    def _drawn(self, call: Call, view: View, entry: Entry, added: Mapping[str, Any]) -> Shared:
        counts = call.sees_scores and call.sees_accounts
        glance = Glance(view.own, view.rating_of(entry), view.is_admin, counts, view.next_after(entry), call.now)
        seen = shown_challenge(entry, call.competition, glance, lambda file: self._file_url(call, file))
        detail: dict[str, object] = {**seen, **added}
        answer = ok(cast("ChallengeDetail", {**detail, "view": self._render_view(call, detail)}))
        return version_of(answer.body, zips=takes_gzip(call))

    def _file_url(self, call: Call, file: File) -> str:
        url = call.url(f"/files/{quote(file.location)}")
        player = call.player
        if player is None:
            return url
        token = self._sign(call.now, {"user_id": player.id, "team_id": player.team_id, "file_id": file.id})
        return f"{url}?token={token}"

    @routes.get(
        "/api/v1/challenges/<challenge_id>/solution",
        CHALLENGES_VISIBLE,
        DURING_EVENT,
        AUTHED,
        VERIFIED,
        data=SolutionGlimpsed,
    )
    async def show_solution(self, call: Call, challenge_id: str) -> Answer:
        """The id of its solution, where the caller may ask for that, and its state."""
        view = self._reader.ready(call) or await self._reader.get(call)
        entry = view.accessible(challenge_id)
        solved = entry.id in view.own.solved
        glimpsed: SolutionGlimpsed = {
            "id": visible_solution(entry.solution, solved=solved),
            "state": solution_state(entry.solution),
        }
        return ok(glimpsed)


def _own_of(view: View, entry: Entry) -> tuple[object, ...]:
    """What of a challenge's detail is the caller's own: an answer to another challenge leaves it as it is."""
    own = view.own
    return (
        entry.id in own.solved,
        own.attempts.get(entry.id),
        own.instants.get(entry.id),
        view.rating_of(entry),
        [hint.id in own.hints for hint in entry.hints],
    )


def _good_until(call: Call, view: View, entry: Entry) -> datetime:
    """When a detail looks different though nothing was written.

    Its links go stale, attempts are forgotten, the challenge ends.
    """
    instants = [call.now + _FRESH]
    if entry.columns["ends_at"] is not None:
        instants.append(entry.columns["ends_at"])
    if view.own.window is not None:
        window = timedelta(seconds=view.own.window)
        instants += [instant + window for instant in view.own.instants.get(entry.id, ())]
    return min(instant for instant in instants if instant > call.now)
