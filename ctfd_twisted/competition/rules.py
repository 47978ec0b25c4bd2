"""The competition's settings, as the ``config`` table holds them, and what follows from them at an instant.

A stored value is text. It is read as CTFd reads it: empty or missing is unset, only digits is an integer, ``true`` and
``false`` in any case are booleans, anything else is the text itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal

Value = int | bool | str

#: What an unset key means.
DEFAULTS: Final[Mapping[str, Value]] = {
    "ctf_name": "CTFd",
    "user_mode": "users",
    "ctf_theme": "core",
    "challenge_visibility": "private",
    "registration_visibility": "public",
    "score_visibility": "public",
    "account_visibility": "public",
}


#: The longest text of digits that is a number: a longer one counts or measures nothing.
_DIGITS: Final = 18
#: The highest number that a setting can mean: in seconds, it can be taken from any instant.
_HIGHEST: Final = 2**31 - 1
#: The last second that an instant can have. Somebody who writes milliseconds means a year that will not come.
_LAST_SECOND: Final = 253_402_300_799


def read_value(text: str | None) -> Value | None:
    """The value of a stored *text*; None when it is unset."""
    if text is None or text == "":
        return None
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return int(text)
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    return text


def write_value(value: object, *, dialect: str) -> str | None:
    """The text that is stored for a value out of JSON: CTFd's databases write a boolean each in its own way."""
    if value is None:
        return None
    if isinstance(value, bool):
        if dialect == "postgresql":
            return "true" if value else "false"
        return "1" if value else "0"
    return str(value)


class Competition:
    """The settings of one moment; never changes."""

    __slots__ = (
        "_values",
        "account_visibility",
        "challenge_visibility",
        "end",
        "freeze",
        "is_set_up",
        "mode",
        "name",
        "paused",
        "registration_visibility",
        "score_visibility",
        "start",
        "teams",
        "view_after",
    )

    def __init__(self, stored: Mapping[str, str | None]) -> None:
        values = {key: value for key, text in stored.items() if (value := read_value(text)) is not None}
        self._values: Mapping[str, Value] = values
        self.name = self.text("ctf_name")
        self.mode: Literal["users", "teams"] = "teams" if self.get("user_mode") == "teams" else "users"
        self.teams = self.mode == "teams"
        self.is_set_up = self.truthy("setup")
        self.start = self._epoch("start")
        self.end = self._epoch("end")
        self.freeze = self._epoch("freeze")
        self.paused = self.truthy("paused")
        self.view_after = self.truthy("view_after_ctf")
        self.challenge_visibility = self.text("challenge_visibility")
        self.score_visibility = self.text("score_visibility")
        self.account_visibility = self.text("account_visibility")
        self.registration_visibility = self.text("registration_visibility")

    def get(self, key: str, default: Value | None = None) -> Value | None:
        """The value of *key*, else *default*, else the built-in default."""
        value = self._values.get(key)
        if value is not None:
            return value
        return DEFAULTS.get(key) if default is None else default

    def text(self, key: str, default: str = "") -> str:
        """The value as text: a competition called ``2024`` is stored as digits and still has a name."""
        value = self.get(key)
        return default if value is None else str(value)

    def integer(self, key: str, default: int) -> int:
        """The value as an integer of 32 bits at most; *default* where it is unset or no number."""
        value = self.get(key)
        return min(int(value), _HIGHEST) if isinstance(value, int) else default

    def truthy(self, key: str, default: bool = False) -> bool:  # noqa: FBT001, FBT002 - reads well at every call
        """Whether the value counts as yes: 0 and false do not, *default* where it is unset."""
        value = self.get(key)
        return default if value is None else bool(value)

    def _epoch(self, key: str) -> int | None:
        value = self._values.get(key)
        return min(value, _LAST_SECOND) if isinstance(value, int) and not isinstance(value, bool) else None

    def started(self, now: datetime) -> bool:
        """Whether the start has passed; an unset start has."""
        return now.timestamp() > (self.start or 0)

    def ended(self, now: datetime) -> bool:
        """Whether the end is set and has passed."""
        return bool(self.end) and now.timestamp() > (self.end or 0)

    def running(self, now: datetime) -> bool:
        """Whether *now* lies strictly between start and end, an unset one being no bound ("CTF time")."""
        moment = now.timestamp()
        return (not self.start or self.start < moment) and (not self.end or moment < self.end)

    @property
    def frozen_at(self) -> datetime | None:
        """The instant from which on the public sees nothing new; None without a freeze."""
        return datetime.fromtimestamp(self.freeze, UTC) if self.freeze else None

    def frozen(self, now: datetime) -> bool:
        """Whether the freeze has passed."""
        return bool(self.freeze) and now.timestamp() >= (self.freeze or 0)

    def sees_scores(self, *, logged_in: bool, is_admin: bool) -> bool:
        """Whether scores are shown as fields; ``hidden`` hides them from everybody, admins included."""
        return _sees(self.score_visibility, logged_in=logged_in, is_admin=is_admin)

    def sees_accounts(self, *, logged_in: bool, is_admin: bool) -> bool:
        """Whether accounts are shown."""
        return _sees(self.account_visibility, logged_in=logged_in, is_admin=is_admin)

    def sees_challenges(self, *, logged_in: bool, is_admin: bool) -> bool:
        """Whether challenges are shown."""
        return _sees(self.challenge_visibility, logged_in=logged_in, is_admin=is_admin)


def _sees(visibility: str, *, logged_in: bool, is_admin: bool) -> bool:
    if visibility == "public":
        return True
    if visibility == "private":
        return logged_in
    return visibility == "admins" and is_admin
