"""What is answered, as values: status, body, headers, and the signature. Pure functions."""

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass

from koth_agent.run import Run

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """One HTTP answer."""

    status: int
    body: bytes
    content_type: bytes = TEXT
    headers: tuple[tuple[bytes, bytes], ...] = ()


UNAUTHORIZED = Answer(401, b"Unauthorized", headers=((b"WWW-Authenticate", b"Token"),))
FORBIDDEN = Answer(403, b"Forbidden", content_type=b"text/plain")
NOT_FOUND = Answer(404, b"Not Found")


def method_not_allowed(methods: Iterable[str]) -> Answer:
    """405, with the methods that the path does know."""
    return Answer(405, b"Method Not Allowed", headers=((b"Allow", ", ".join(sorted(methods)).encode("ascii")),))


def status_answer(owner: str | None) -> Answer:
    """`/status`: the owner, or 500 and an empty identifier where nobody can say (``None``)."""
    return _envelope(success=owner is not None, data={"identifier": owner or ""})


def health_answer(run: Run) -> Answer:
    """`/healthcheck`: both streams as text and the exit status; 500 unless the run succeeded."""
    return _envelope(
        success=run.succeeded,
        data={
            "stdout": run.stdout.decode("utf-8", "replace"),
            "stderr": run.stderr.decode("utf-8", "replace"),
            "status": run.status,
        },
    )


def signature(key: bytes, nonce: bytes, body: bytes) -> bytes:
    """The header KoTH-Signature: proof that who answers *body* to *nonce* knows the API key."""
    return b"v1=" + hmac.new(key, nonce + b"." + body, hashlib.sha256).hexdigest().encode("ascii")


def _envelope(*, success: bool, data: dict[str, object]) -> Answer:
    text = json.dumps({"success": success, "data": data}, ensure_ascii=False, separators=(",", ":"))
    return Answer(200 if success else 500, text.encode("utf-8"), JSON)
