"""``python -m ctfd_twisted.ops.workers.process NAME``: one worker; its supervisor starts it and tells it what to do."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress
from typing import Any, BinaryIO

from twisted.application.app import startApplication
from twisted.application.service import Application
from twisted.internet.error import ReactorNotRunning
from twisted.internet.interfaces import IReactorCore
from twisted.internet.protocol import Protocol
from twisted.internet.stdio import StandardIO
from twisted.logger import FileLogObserver, LogEvent, eventAsText, globalLogBeginner

from ctfd_twisted.ops.node import Stage
from ctfd_twisted.ops.workers.doors import SharedEndpoint
from ctfd_twisted.ops.workers.supervisor import ORDERS, STATE, Orders


class Lifeline(Protocol):
    """What comes from the supervisor after the orders: nothing, until it is gone."""

    def __init__(self, reactor: IReactorCore) -> None:
        self._reactor = reactor

    def connectionLost(self, reason: Any = None) -> None:
        """End: nobody would start this worker again, and none of its sockets is its own."""
        del reason
        with suppress(ReactorNotRunning):  # it ends already
            self._reactor.stop()


def main() -> None:
    """Read the orders, and work until told to stop."""
    # A terminal, or ``systemctl kill``, sends it to the whole group; it is meant for the supervisor.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    orders = read_orders(sys.stdin.buffer)
    from twisted.internet import reactor  # noqa: PLC0415 - it is chosen when it is imported

    observer = FileLogObserver(sys.stdout, _as_text)
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
    doors = {door.description: door for door in orders.doors}
    stage = Stage(lambda description: SharedEndpoint(reactor, doors[description]), tell, alone=False)
    from ctfd_twisted.service import make_node  # noqa: PLC0415 - it takes a second, and the orders come first

    any_reactor: Any = reactor
    application = Application("ctfplatform")
    node = make_node(orders.settings, any_reactor, stage)
    node.setServiceParent(application)
    node.privilegedStartService()
    any_reactor.callWhenRunning(hold_on, any_reactor)
    startApplication(application, save=False)
    any_reactor.run()


def hold_on(reactor: Any) -> None:
    """End when the supervisor does.

    ``StandardIO`` makes what it writes to non-blocking, so that is not the log, of which lines would be lost when they
    come faster than they are read; and it closes both, so they are copies: what was opened next would have the number
    that the log is written to.
    """
    lifeline: Any = StandardIO  # a type checker takes it for that of Windows
    lifeline(Lifeline(reactor), stdin=os.dup(ORDERS), stdout=os.dup(STATE), reactor=reactor)


def _as_text(event: LogEvent) -> str | None:
    """A line without the time, which the supervisor's log adds; None where there is nothing to say."""
    text = eventAsText(event, includeTimestamp=False).rstrip()
    return f"{text}\n" if text else None


def read_orders(stream: BinaryIO) -> Orders:
    """What the supervisor says first: a length, and pickled ``Orders``."""
    length = int.from_bytes(stream.read(4), "big")
    orders: Orders = pickle.loads(stream.read(length))  # noqa: S301 - our own supervisor's, over its pipe
    return orders


def tell(state: str) -> bool:
    """Tell the supervisor how this worker is; whether it could be told."""
    try:
        os.write(STATE, state.encode() + b"\n")
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
