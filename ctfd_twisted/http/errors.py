"""The domain's errors to answers: the one table, and the texts that CTFd's clients know."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.errors import (
    Busy,
    DomainError,
    Forbidden,
    Impossible,
    Invalid,
    Malformed,
    NotFound,
    Refused,
    TooLarge,
    TooMany,
    Unauthorized,
)
from ctfd_twisted.http.answers import Answer, json_answer

#: Every error's status; ``Malformed`` is 400 where the deployment says so.
STATUS: Final[dict[type[DomainError], int]] = {
    Malformed: 500,
    Invalid: 400,
    Unauthorized: 401,
    Forbidden: 403,
    Refused: 403,
    NotFound: 404,
    TooLarge: 413,
    TooMany: 429,
    Impossible: 500,
    Busy: 503,
}

FORBIDDEN: Final = (
    "You don't have the permission to access the requested resource. It is either read-protected or not readable by "
    "the server."
)
NOT_FOUND: Final = (
    "The requested URL was not found on the server. If you entered the URL manually please check your spelling and "
    "try again."
)
UNAUTHORIZED: Final = (
    "The server could not verify that you are authorized to access the URL requested. You either supplied the wrong "
    "credentials (e.g. a bad password), or your browser doesn't understand how to supply the credentials required."
)


class NotFoundInApi(NotFound):
    """404 as JSON: a method that a path of the REST API does not have."""


def status_of(error: DomainError) -> int:
    """The status of *error*, by the nearest class that the table names."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def error_answer(error: DomainError, malformed_status: int) -> Answer:
    """The JSON answer to *error*."""
    status = status_of(error)
    if isinstance(error, Malformed):
        body = {"success": False, "message": "Internal Server Error", "errors": {"": [error.reason]}}
        return json_answer(body, malformed_status)
    if isinstance(error, Invalid | Refused | Impossible):
        return json_answer({"success": False, "errors": error.errors}, status)
    if isinstance(error, TooMany):
        answer = json_answer({"code": 429, "message": error_text(error)}, status)
        return _with(answer, (b"Retry-After", str(error.retry_after).encode()))
    answer = json_answer({"message": error_text(error)}, status)
    if isinstance(error, Busy):
        return _with(answer, (b"Retry-After", str(error.retry_after).encode()))
    return answer


def error_text(error: DomainError) -> str:
    """One sentence for a person."""
    match error:
        case Malformed():
            return error.reason
        case Unauthorized():
            return error.message
        case Forbidden():
            return error.message or FORBIDDEN
        case NotFound():
            return error.message or NOT_FOUND
        case TooLarge():
            return f"The request's body is larger than the {error.limit} bytes that are accepted."
        case TooMany():
            return error.reason or f"Too many requests. Limit is {error.limit} requests in {error.interval} seconds"
        case Busy():
            return error.reason
        case Invalid() | Refused() | Impossible():
            texts = (text for value in error.errors.values() for text in ([value] if isinstance(value, str) else value))
            return " ".join(texts)
    return str(error)


def _with(answer: Answer, *headers: tuple[bytes, bytes]) -> Answer:
    return Answer(answer.body, answer.status, answer.content_type, (*answer.headers, *headers))
