"""A part of a measurement that runs in a process of its own: it is given an order, and tells what came of it.

Such a part is a module with a ``main`` that reads its order by :func:`order`, says :func:`begun` when it begins, and
ends with :func:`tell`.
"""

from __future__ import annotations

import subprocess
import sys
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

import msgspec

_BEGUN: Final = b"begun\n"
T = TypeVar("T", bound=msgspec.Struct)


class Aside(Generic[T]):
    """The process of *module*, from ``with`` to its end; by then it has begun. What it tells is a *kind*."""

    def __init__(self, module: str, order: msgspec.Struct, kind: type[T]) -> None:
        self._module = module
        self._order = order
        self._kind = kind

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", self._module]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - ours
        assert process.stdin is not None  # noqa: S101 - it was asked for
        assert process.stdout is not None  # noqa: S101 - the same
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self._to.write(msgspec.json.encode(self._order) + b"\n")
        self._to.flush()
        if self._from.readline() != _BEGUN:
            self.__exit__(None, None, None)
            raise RuntimeError(f"{self._module} could not begin; what went wrong stands above")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._to.close()
        self._from.close()

    def result(self) -> T:
        """Let it come to its end; what it tells. Raises ``RuntimeError`` where it has failed."""
        self._to.close()
        told = self._from.read()
        if self._process.wait():
            raise RuntimeError(f"{self._module} has failed; what went wrong stands above")
        return msgspec.json.decode(told, type=self._kind)


def order(kind: type[T]) -> T:
    """What this process is to do."""
    return msgspec.json.decode(sys.stdin.buffer.readline(), type=kind)


def begun() -> None:
    """Say that it begins."""
    sys.stdout.buffer.write(_BEGUN)
    sys.stdout.buffer.flush()


def until_ended() -> None:
    """Wait until this process is told to come to its end."""
    sys.stdin.buffer.read()


def tell(result: msgspec.Struct) -> None:
    """Say what came of it."""
    sys.stdout.buffer.write(msgspec.json.encode(result))
