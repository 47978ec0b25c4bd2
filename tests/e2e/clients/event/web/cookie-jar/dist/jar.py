"""Hands out crumbs, one at a time."""

import hmac

KEY = b"ask the baker"


def crumb(guest: str) -> str:
    return guest + "." + hmac.new(KEY, guest.encode(), "sha256").hexdigest()
