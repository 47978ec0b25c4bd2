"""Asking the provider of sign-ins whom a code is about. Whatever it does, it costs seconds, and is told in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NoReturn
from urllib.parse import urlencode

from treq import collect
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.web.http_headers import Headers
from twisted.web.iweb import IResponse

from ctfd_twisted.accounts.oauth_reach import Reach
from ctfd_twisted.accounts.oauth_rules import Profile, Provider, Reason, Turned, read_profile, read_token
from ctfd_twisted.errors import Busy
from ctfd_twisted.http.outgoing import Line
from ctfd_twisted.http.sending import ReadyBody

#: Seconds from the name to the answer's last byte, for each of the two requests.
SECONDS: Final = 5.0
#: Bytes of an answer's body.
MOST_BYTES: Final = 64 * 1024
#: So many people may wait for the provider at once: a provider that hangs must not fill this server with waiting.
AT_ONCE: Final = 100

_FORM: Final = {"Content-Type": ["application/x-www-form-urlencoded"]}
_FINE: Final = 200


class _TooMuch(Exception):
    """An answer is longer than what is read of one."""

    def __str__(self) -> str:
        return f"the answer is longer than {MOST_BYTES} bytes"


class _Late(Exception):
    """An answer was not complete in time."""

    def __str__(self) -> str:
        return f"no complete answer within {SECONDS:g} seconds"


class OAuthClient:
    """Exchanges codes for profiles. Nothing that is secret is logged, nor any part of an answer."""

    _log = Logger()

    def __init__(self, clock: IReactorTime, reach: Reach) -> None:
        self._clock = clock
        self._reach = reach
        self._waiting = 0

    async def profile(self, provider: Provider, code: str) -> Profile:
        """Return whom *code* is about; raises ``Turned``, and ``Busy`` where too many wait already."""
        if self._waiting >= AT_ONCE:
            raise Busy
        self._waiting += 1
        try:
            token = await self._token(provider, code)
            return await self._user(provider, token)
        finally:
            self._waiting -= 1

    async def _token(self, provider: Provider, code: str) -> str:
        form = {
            "code": code,
            "client_id": provider.client_id,
            "client_secret": provider.client_secret,
            "grant_type": "authorization_code",
        }
        body = urlencode(form, errors="replace").encode()
        try:
            status, content = await self._exchange(b"POST", provider.token_endpoint, _FORM, body)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a provider does is an outcome
            self._failed("token", "away", error)
        try:
            _check(status)
            return read_token(content)
        except ValueError as error:
            self._failed("token", "token", error)

    async def _user(self, provider: Provider, token: str) -> Profile:
        try:
            status, content = await self._exchange(
                b"GET", provider.api_endpoint, {"Authorization": [f"Bearer {token}"]}, None
            )
            _check(status)
            return read_profile(content)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a provider does is an outcome
            self._failed("user", "profile", error)

    def _failed(self, step: str, reason: Reason, error: Exception) -> NoReturn:
        self._log.warn("MajorLeagueCyber, {step} endpoint: {why}", step=step, why=_in_words(error))
        raise Turned(reason) from None

    async def _exchange(
        self, method: bytes, url: str, headers: dict[str, list[str]], body: bytes | None
    ) -> tuple[int, bytes]:
        """One request and its answer; redirects are not followed, for the secret is meant for one address.

        Raises ``CancelledError`` where nobody waits for the answer any more.
        """
        line = Line()
        asking = Deferred.fromCoroutine(self._answer(line, method, url, headers, body))
        deadline = self._clock.callLater(SECONDS, asking.cancel)
        try:
            return await asking
        except Exception as error:
            if not deadline.active():
                raise _Late from None
            if any(isinstance(cause, CancelledError) for cause in _causes(error)):
                raise CancelledError from None
            raise
        finally:
            line.cut()
            if deadline.active():
                deadline.cancel()

    async def _answer(
        self, line: Line, method: bytes, url: str, headers: dict[str, list[str]], body: bytes | None
    ) -> tuple[int, bytes]:
        agent = self._reach.agent(line, SECONDS)
        sent = Headers({"User-Agent": ["ctfd-twisted"], "Accept": ["application/json"], **headers})
        response = await agent.request(method, url.encode(), sent, None if body is None else ReadyBody(body))
        return response.code, await _content(response)


def _check(status: int) -> None:
    if status != _FINE:
        raise ValueError(f"status {status}")


async def _content(response: IResponse) -> bytes:
    content = bytearray()

    def keep(data: bytes) -> None:
        if len(content) + len(data) > MOST_BYTES:
            raise _TooMuch
        content.extend(data)

    await collect(response, keep)
    return bytes(content)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Return *error*, or the errors that twisted.web has wrapped in it."""
    reasons: Any = getattr(error, "reasons", None)
    if reasons:
        for reason in reasons:
            yield from _causes(reason.value)
    else:
        yield error


def _in_words(error: Exception) -> str:
    """Return why an exchange failed; what the provider wrote is no part of it."""
    cause = next(_causes(error))
    return str(cause) if isinstance(cause, ValueError | _TooMuch | _Late) else f"{type(cause).__name__}: {cause}"
