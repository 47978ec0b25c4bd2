"""What this machine itself loses when two of its cores are busy: two processes that only work, one alone and both.

Cores may share more than they seem to: a virtual machine's two may be the two threads of one.
"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from typing import Final, Literal

import msgspec

from bench.aside import Aside, begun, order, tell

#: Bytes that are sent and received again at once; sockets hold so many anywhere.
_SIZE: Final = 32_768


class Order(msgspec.Struct, frozen=True):
    """What is done for so many seconds: steps of Python, or copies of bytes through a pair of sockets."""

    what: Literal["python", "copies"]
    seconds: float


class Spun(msgspec.Struct, frozen=True):
    """How many rounds, and the CPU seconds that they took."""

    rounds: int
    cpu: float


class Spin(Aside[Spun]):
    """A process that does what is *wanted* from ``with`` on."""

    def __init__(self, wanted: Order) -> None:
        super().__init__("bench.spin", wanted, Spun)


def kept(what: Literal["python", "copies"], seconds: float) -> float:
    """The part of its rounds per CPU second that a process keeps while another one does the same."""
    alone = _rates(what, seconds, 1)
    return min(_rates(what, seconds, 2)) / alone[0]


def _rates(what: Literal["python", "copies"], seconds: float, processes: int) -> list[float]:
    with ExitStack() as stack:
        spins = [stack.enter_context(Spin(Order(what, seconds))) for _ in range(processes)]
        return [told.rounds / told.cpu for told in [spin.result() for spin in spins]]


def _python() -> None:
    found: dict[int, str] = {}
    for number in range(500):
        found[number % 64] = str(number)


class _Copies:
    def __init__(self) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * _SIZE)
        self._sent, self._came = b"x" * _SIZE, bytearray(_SIZE)

    def __call__(self) -> None:
        self._near.sendall(self._sent)
        left = _SIZE
        while left:
            left -= self._far.recv_into(self._came)


def main() -> None:
    """Follow the order."""
    wanted = order(Order)
    work = _python if wanted.what == "python" else _Copies()
    begun()
    cpu, ends, rounds = time.process_time(), time.perf_counter() + wanted.seconds, 0
    while time.perf_counter() < ends:
        work()
        rounds += 1
    tell(Spun(rounds, time.process_time() - cpu))


if __name__ == "__main__":
    main()
