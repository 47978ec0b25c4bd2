"""Coroutines that may have nothing to wait for."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred, ensureDeferred, succeed

from ctfd_twisted.http.at_once import begun


async def adding(*parts: Deferred[int]) -> int:
    total = 0
    for part in parts:
        total += await part
    return total


def test_what_waits_for_nothing_is_done_at_once() -> None:
    assert begun(adding()) == 0
    assert begun(adding(succeed(1), succeed(2))) == 3


def test_what_waits_goes_on_from_where_it_waits() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    left: Any = begun(adding(succeed(1), first, second))
    seen: list[int] = []
    ensureDeferred(left).addCallback(seen.append)

    first.callback(20)
    assert seen == []
    second.callback(300)
    assert seen == [321]


def test_an_error_reaches_the_coroutine_where_it_waits() -> None:
    async def forgiving(part: Deferred[int]) -> str:
        try:
            await part
        except ValueError as error:
            return f"forgiven: {error}"
        return "nothing to forgive"

    part: Deferred[int] = Deferred()
    left: Any = begun(forgiving(part))
    seen: list[str] = []
    ensureDeferred(left).addCallback(seen.append)
    part.errback(ValueError("no"))
    assert seen == ["forgiven: no"]


def test_an_error_that_nobody_catches_comes_out() -> None:
    async def failing() -> None:
        raise ValueError("at once")

    with pytest.raises(ValueError, match="at once"):
        begun(failing())


def test_who_hangs_up_cancels_what_is_left() -> None:
    ended: list[str] = []

    async def tidy(part: Deferred[int]) -> None:
        try:
            await part
        finally:
            ended.append("tidied")

    left: Any = begun(tidy(Deferred()))
    deferred = ensureDeferred(left)
    deferred.addErrback(lambda failure: failure.trap(CancelledError) and None)
    deferred.cancel()
    assert ended == ["tidied"]


def test_what_nobody_waits_for_any_more_is_closed_once() -> None:
    async def waits(part: Deferred[None], ends: list[str]) -> None:
        try:
            await part
        finally:
            ends.append("closed")

    for first in ("what is left", "the coroutine"):
        ends: list[str] = []
        coroutine = waits(Deferred(), ends)
        left: Any = begun(coroutine)
        left.send(None)
        if first == "the coroutine":
            coroutine.close()
        left.close()
        assert ends == ["closed"]
