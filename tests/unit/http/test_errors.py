"""The table from errors to answers."""

from __future__ import annotations

import json

import pytest

from ctfd_twisted import errors
from ctfd_twisted.http.errors import STATUS, error_answer, error_text, status_of


def concrete_errors() -> list[type[errors.DomainError]]:
    found: list[type[errors.DomainError]] = []
    pending = [errors.DomainError]
    while pending:
        for kind in pending.pop().__subclasses__():
            pending.append(kind)
            if not kind.__name__.startswith("_") and kind.__module__ == "ctfd_twisted.errors":
                found.append(kind)
    return found


def test_the_table_is_total() -> None:
    assert set(concrete_errors()) == set(STATUS)


@pytest.mark.parametrize(
    ("error", "status", "body"),
    [
        (errors.Invalid(name=["taken"]), 400, {"success": False, "errors": {"name": ["taken"]}}),
        (errors.Invalid({"id": "bare"}), 400, {"success": False, "errors": {"id": "bare"}}),
        (errors.Refused({"": ["no"]}), 403, {"success": False, "errors": {"": ["no"]}}),
        (errors.Forbidden("x has ended"), 403, {"message": "x has ended"}),
        (errors.Unauthorized("Your access token is invalid"), 401, {"message": "Your access token is invalid"}),
        (errors.Impossible({"": ["why"]}), 500, {"success": False, "errors": {"": ["why"]}}),
        (
            errors.TooMany(10, 5),
            429,
            {"code": 429, "message": "Too many requests. Limit is 10 requests in 5 seconds"},
        ),
    ],
)
def test_each_error_has_its_body(error: errors.DomainError, status: int, body: object) -> None:
    answer = error_answer(error, 500)
    assert (answer.status, json.loads(answer.body)) == (status, body)
    assert status_of(error) == status
    assert error_text(error)


@pytest.mark.parametrize("status", [500, 400])
def test_a_malformed_body_gets_the_status_that_the_deployment_chose(status: int) -> None:
    answer = error_answer(errors.Malformed("here"), status)
    assert answer.status == status
    assert json.loads(answer.body) == {"success": False, "message": "Internal Server Error", "errors": {"": ["here"]}}


@pytest.mark.parametrize("error", [errors.Busy(7), errors.TooMany(1, 9, 7)])
def test_who_must_wait_is_told_how_long(error: errors.DomainError) -> None:
    assert (b"Retry-After", b"7") in error_answer(error, 500).headers
