"""``POST /api/v1/challenges/attempt``: an answer comes in."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ctfd_twisted.challenges.attempts import Outcome, attempts, preview
from ctfd_twisted.challenges.bodies import AskedPreview
from ctfd_twisted.challenges.ids import sent_id
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid, Malformed, NotFound
from ctfd_twisted.http.answers import JSON, Answer, json_answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described, impossible, missing
from ctfd_twisted.http.gates import CHALLENGES_VISIBLE, DURING_EVENT, VERIFIED
from ctfd_twisted.http.routes import Routes

#: The longest answer, in characters: what CTFd's column holds.
LONGEST: Final = 65_535


class AttemptFields(msgspec.Struct, frozen=True):
    """An answer to a challenge; blanks around it do not count."""

    challenge_id: int
    submission: Annotated[str, Meta(max_length=LONGEST)]


class AttemptJudged(TypedDict):
    """What an answer was worth, and what the player is told."""

    status: Literal["correct", "incorrect", "partial", "already_solved"]
    message: str


class AttemptRefusal(TypedDict):
    """Why an answer was not compared; there is no message where the caller has to sign in."""

    status: Literal["authentication_required", "paused", "ratelimited"]
    message: NotRequired[str]


class AttemptRefused(TypedDict):
    """An answer that was not compared; ``success`` is true nevertheless."""

    success: Literal[True]
    data: AttemptRefusal


_ALSO: Final = (
    Described(403, JSON, AttemptRefused, "Nobody is signed in, the event is paused, or no tries are left."),
    Described(429, JSON, AttemptRefused, "Too many wrong answers."),
    missing("There is no such challenge for the caller."),
    impossible("The challenge's kind is not installed."),
)


#: To somebody who is not signed in where challenges are public. Clients know it by its lack of a message.
_ASKS_TO_SIGN_IN: Final[AttemptRefused] = {"success": True, "data": {"status": "authentication_required"}}
_SIGN_IN: Final = json_answer(_ASKS_TO_SIGN_IN, 403)


class AttemptsApi:
    """Answers to challenges."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db
        self._attempt = db.together(attempts)

    @routes.post(
        "/api/v1/challenges/attempt",
        CHALLENGES_VISIBLE,
        DURING_EVENT,
        VERIFIED,
        query=AskedPreview,
        body=AttemptFields,
        data=AttemptJudged,
        also=_ALSO,
    )
    async def answer(self, call: Call) -> Answer:
        """Judge an answer; ``preview`` lets an administrator try the flags without leaving anything."""
        player = call.player
        if player is None:
            return _SIGN_IN
        body = call.body_object()
        challenge_id = _asked(body.get("challenge_id"))
        submission = body.get("submission")
        if not isinstance(submission, str):
            raise Malformed("submission: expected a string")
        if len(submission) > LONGEST:
            raise Invalid(submission=[f"Longer than maximum length {LONGEST}."])
        if player.is_admin and call.query(AskedPreview).preview:
            return _told(await self._db.read(preview, challenge_id, submission))
        new = NewAttempt(call.now, player.id, player.is_admin, challenge_id, submission, call.address)
        return _told(await self._attempt(new))


def _asked(value: object) -> int:
    """The id of a challenge as it was sent; 0, which none has, for what is no id: that is told in its turn."""
    try:
        return sent_id(value)
    except NotFound:
        return 0


def _told(outcome: Outcome) -> Answer:
    data = {"status": outcome.status, "message": outcome.message}
    answer = json_answer({"success": True, "data": data}, outcome.http_status)
    if outcome.retry_after is None:
        return answer
    return replace(answer, headers=((b"Retry-After", b"%d" % outcome.retry_after),))
