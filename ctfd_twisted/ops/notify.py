"""Telling a supervisor such as systemd how the service is: sd_notify's datagrams of ``NAME=value`` lines."""

import os
import socket

from twisted.logger import Logger

_log = Logger()

READY = "READY=1"
STOPPING = "STOPPING=1"


def notify(state: str) -> bool:
    """Send *state* to the socket that ``NOTIFY_SOCKET`` names; whether somebody was told.

    Without the variable nobody listens. A supervisor that can't be reached is logged: it must not stop the platform.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        # Linux's abstract sockets have a zero byte there, which no variable can hold.
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as channel:
            channel.sendto(state.encode(), address)
    except OSError as error:
        _log.warn("the supervisor could not be told {state}: {error}", state=state, error=error)
        return False
    return True
