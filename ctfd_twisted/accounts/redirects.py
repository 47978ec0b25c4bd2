"""Where a visitor may be sent after signing in: only to a place of our own (security.md section 4)."""

from __future__ import annotations

import unicodedata
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

#: The longest target that is followed, in characters.
LONGEST: Final = 2048

# Browsers strip these at both ends and remove tab, CR and LF anywhere before they look at an address.
_STRIPPED: Final = "".join(map(chr, range(0x21)))
_REMOVED: Final = str.maketrans("", "", "\t\r\n")
# What has a meaning in an address stays; a backslash has one to browsers only, and is encoded.
_KEPT: Final = "%/:=&?~#+!$,;'@()*[]"


def is_safe(target: str, origin: str) -> bool:
    """Return whether following *target* stays at *origin* (``scheme://host[:port]``), whatever browser follows it.

    A backslash is a slash to browsers, so the text must be safe both as it is and with every backslash replaced.
    """
    return _is_local(target, origin) and _is_local(target.replace("\\", "/"), origin)


def safe_next(target: str | None, origin: str) -> str | None:
    """Return *target* as an ASCII address for a Location header where it is safe, else ``None``."""
    if target is None or not is_safe(target, origin):
        return None
    return quote(_cleaned(target), safe=_KEPT)


def _cleaned(target: str) -> str:
    return target.strip(_STRIPPED).translate(_REMOVED)


def _is_local(target: str, origin: str) -> bool:
    if len(target) > LONGEST:
        return False
    target = _cleaned(target)
    if not target or target.startswith("///") or unicodedata.category(target[0]).startswith("C"):
        return False
    try:
        parts = urlsplit(target)
        # Two slashes or a scheme without a host mean the own host here and something else to browsers.
        if not parts.netloc and (parts.scheme or target.startswith("//")):
            return False
        own, there = urlsplit(origin), urlsplit(urljoin(origin + "/", target))
        # Reading the port raises for what is no number, so a host that only looks like ours does not pass.
        same = (there.netloc.lower(), there.port) == (own.netloc.lower(), own.port)
    except ValueError:
        return False
    return there.scheme in {"http", "https"} and same
