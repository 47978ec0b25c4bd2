"""A receiver of webhooks, as its author would write one: validates, verifies, prints."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import msgspec
from klein import Klein

#: An event whose signature is older than this, in seconds, is refused.
TOLERANCE = 300


class Receiver:
    """Answers the validation and prints every event whose signature is right."""

    app = Klein()

    def __init__(self, secret: str, seconds: Callable[[], float], say: Callable[[str], None]) -> None:
        self._secret = secret.encode()
        self._seconds = seconds
        self._say = say

    @app.route("/hook", methods=["GET"])
    def validate(self, request: Any) -> bytes:
        """Prove that this receiver knows the shared secret."""
        request.setHeader(b"content-type", b"application/json")
        token = request.args.get(b"token", [b""])[0]
        return msgspec.json.encode({"response": self._digest(token)})

    @app.route("/hook", methods=["POST"])
    def event(self, request: Any) -> bytes:
        """Verify one event and print it."""
        body = request.content.read()
        header = (request.getHeader(b"service-webhook-signature") or b"").decode("latin-1")
        if not self.is_signed(header, body):
            request.setResponseCode(400)
            return b"wrong signature"
        name = (request.getHeader(b"service-webhook-event") or b"").decode("latin-1")
        self._say(f"webhook   {name:<20} verified  {summary(msgspec.json.decode(body))}")
        return b""

    def is_signed(self, header: str, body: bytes) -> bool:
        """Whether one of the header's signatures is that of *body*, made not long ago."""
        parts = [part.split("=", 1) for part in header.split(",") if "=" in part]
        times = [value for key, value in parts if key == "t" and value.isdigit()]
        if len(times) != 1 or abs(self._seconds() - int(times[0])) > TOLERANCE:
            return False
        expected = self._digest(f"{times[0]}.".encode() + body)
        return any(key == "v1" and hmac.compare_digest(value, expected) for key, value in parts)

    def _digest(self, text: bytes) -> str:
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()


def summary(body: Any) -> str:
    """One event in a few words."""
    match body:
        case {"challenge": {"name": challenge}, "user": {"name": user}}:
            return f"{user} solved {challenge}"
        case {"challenge": {"name": challenge}, "king": king}:
            return f"{king['name'] if king else 'nobody'} holds {challenge}"
        case {"name": name}:
            return str(name)
    return msgspec.json.encode(body).decode()[:100]
