"""How values read on a page: instants, lengths of time, numbers, links. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def when(moment: datetime | int | str | None) -> str:
    """An instant (or epoch seconds, or ISO 8601) as a ``time`` element; a script shows it in the reader's zone."""
    if moment is None:
        return Markup('<span class="muted">never</span>')
    if isinstance(moment, int):
        moment = datetime.fromtimestamp(moment, UTC)
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    utc = moment.astimezone(UTC)
    return Markup('<time datetime="{}">{} UTC</time>').format(
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"), utc.strftime("%Y-%m-%d %H:%M")
    )


def epoch(moment: str) -> int:
    """An instant in ISO 8601 as Unix seconds."""
    return int(datetime.fromisoformat(moment).timestamp())


def lasting(seconds: float) -> str:
    """A length of time in its two largest units: ``2 d 3 h``, ``4 min 5 s``, ``12 s``."""
    left = max(0, round(seconds))
    parts = []
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


#: What browsers call themselves: each claims to be those that follow it here.
_BROWSERS: Final = (
    ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("Edg", "Edge"), ("OPR/", "Opera"), ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"), ("Safari/", "Safari"),
)  # fmt: skip
_SYSTEMS: Final = (
    ("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iOS"), ("Windows", "Windows"), ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 solve``, ``2 solves``."""
    return f"{grouped(number)} {one if number == 1 else many or one + 's'}"


def grouped(number: int) -> str:
    """Digits in groups of three with thin spaces that do not break: ``12 500``; four digits stay together."""
    return f"{number:,}".replace(",", "\u202f") if abs(number) >= 10_000 else str(number)  # noqa: PLR2004


def web_link(address: str | None) -> str:
    """*address* where it is one of the web, else empty: no other scheme becomes a link."""
    address = (address or "").strip()
    return address if address.lower().startswith(("http://", "https://")) else ""


def browser(user_agent: str) -> str:
    """``Firefox on Linux`` out of what a browser calls itself; a program's own name, or ``Unknown``."""
    name = next((name for mark, name in _BROWSERS if mark in user_agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), None)
    if name is None:
        return user_agent.strip()[:60] or "Unknown"
    return name if system is None else f"{name} on {system}"


def options(items: Iterable[Any], value: str = "id", text: str = "name") -> list[tuple[Any, Any]]:
    """What a select list offers: the pairs of two attributes of *items*."""
    return [(getattr(item, value), getattr(item, text)) for item in items]


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "when": when,
    "lasting": lasting,
    "browser": browser,
    "counted": counted,
    "epoch": epoch,
    "grouped": grouped,
    "options": options,
    "pair": lambda value: (value, value),
    "web_link": web_link,
}
