"""What stands in a ``Host`` header: the name that a visitor knows this server by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_LABEL: Final = rb"[a-z0-9_-]{1,63}"
_HOST: Final = re.compile(rb"(?:(?:%b\.)*%b\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?" % (_LABEL, _LABEL), re.IGNORECASE)


def is_host(header: bytes) -> bool:
    """Whether *header* is a name or an address, with a port or without.

    Anything else (``ours:80@theirs``) would lead whoever follows a link that is made of it to another server.
    """
    return _HOST.fullmatch(header) is not None


def is_served(header: bytes, names: Iterable[str]) -> bool:
    """Whether *header* names one of *names*: exactly, or below one that begins with a dot; ports do not count."""
    host = header.decode("latin-1").lower()
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return any(
        name == known or (known.startswith(".") and (name.endswith(known) or name == known[1:])) for known in names
    )
