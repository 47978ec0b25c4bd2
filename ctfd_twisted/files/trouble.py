"""What a client is told while the store can't be used."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypeVar

from twisted.logger import Logger

from ctfd_twisted.errors import Busy
from ctfd_twisted.files.content import StoreTrouble

T = TypeVar("T")

#: Seconds after which a client may try again.
_LATER: Final = 30
_log = Logger()


async def reached(waiting: Awaitable[T]) -> T:
    """The value of *waiting*; raises ``Busy``, and tells the log why, where the store can't be used at present."""
    try:
        return await waiting
    except StoreTrouble as trouble:
        _log.warn("{trouble}", trouble=trouble)
        raise Busy(_LATER, "Files can't be reached at present. Please try again shortly.") from None
