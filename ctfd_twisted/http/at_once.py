"""Coroutines that may have nothing to wait for."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any, TypeVar, cast

T = TypeVar("T")


def begun(coroutine: Coroutine[Any, Any, T]) -> T | Coroutine[Any, Any, T]:
    """Run *coroutine* as far as it comes without waiting: its value, or, where it waits, what is left of it to await.

    A ``Deferred`` around a coroutine that never waits costs as much as all that it does.
    """
    try:
        waiting = coroutine.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    return _left(coroutine, waiting)


async def _left(coroutine: Coroutine[Any, Any, T], waiting: Any) -> T:
    return cast("T", await _Left(coroutine, waiting))


class _Left:
    """Goes on with a coroutine from where it waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], waiting: Any) -> None:
        self._coroutine = coroutine
        self._waiting = waiting

    def __await__(self) -> Generator[Any, Any, Any]:
        waiting = self._waiting
        try:
            while True:
                try:
                    came = yield waiting
                except GeneratorExit:
                    # Nobody waits any more. What is collected as garbage may have closed the coroutine before.
                    self._coroutine.close()
                    raise
                except BaseException as error:  # noqa: BLE001 - whatever it is, it is the coroutine's
                    waiting = self._coroutine.throw(error)
                else:
                    waiting = self._coroutine.send(came)
        except StopIteration as done:
            return done.value
