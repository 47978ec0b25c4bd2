"""A hill's settings, and what makes them wrong. Pure.

The one thing about them that is checked elsewhere is the content of certificates and keys (``pem.py``), which needs a
library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import FieldInfo

from ctfd_twisted.errors import Invalid
from ctfd_twisted.koth.urls import checked_url

LONGEST_INTERVAL: Final = 86_400
MOST_POINTS: Final = 1_000_000
DEFAULT_TIMEOUT: Final = 5.0
MOST_CONFIRM_TICKS: Final = 10_000
LONGEST_RESET_MINUTES: Final = 10_080
LONGEST_KEY: Final = 4_096
LONGEST_PEM: Final = 65_535

PEM_FIELDS: Final = ("tls_certificate", "client_certificate", "client_key")
REQUIRED: Final = "Missing data for required field."
NOT_NULL: Final = "Field may not be null."


class HillSettings(msgspec.Struct, frozen=True):
    """What an administrator decides about a hill. Lengths of time are seconds, but ``reset_every`` is minutes.

    ``timeout`` is None where none was chosen: then it is 5 seconds, or the interval where that is shorter.
    """

    url: str
    interval: int
    reward: int
    api_key: str | None = None
    tls_certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    timeout: float | None = None
    health_gate: bool = False
    jitter: float = 0.0
    confirm_ticks: int = 1
    hold_bonus: int = 0
    target_url: str | None = None
    reset_url: str | None = None
    reset_every: int | None = None

    @property
    def seconds(self) -> float:
        """How long one exchange with the agent may take."""
        return min(DEFAULT_TIMEOUT, float(self.interval)) if self.timeout is None else self.timeout


def read_settings(
    fields: Mapping[str, object],
    present: HillSettings | None = None,
    *,
    check_pem: Callable[[str, str], None] | None = None,
) -> HillSettings:
    """The settings that *fields* (a request's JSON object) gives, over those that are *present* already.

    Keys that are no setting of a hill are left alone; ``null`` and an empty string stand for the default. *check_pem*
    is called with the name and the text of each certificate and key, and raises ``ValueError`` for a wrong one. Raises
    ``Invalid`` with a message for every wrong field.
    """
    values: dict[str, Any] = {} if present is None else msgspec.structs.asdict(present)
    errors: dict[str, list[str] | str] = {}
    for field in msgspec.structs.fields(HillSettings):
        name = field.name
        if name not in fields and (present is not None or not field.required):
            continue
        try:
            values[name] = _read(name, fields, None if field.required else field)
            if check_pem is not None and name in PEM_FIELDS and values[name] is not None:
                check_pem(name, values[name])
        except ValueError as error:
            errors[name] = [str(error)]
    if not errors.keys() & {"url", "interval", "reward"}:
        settings = HillSettings(**values)
        for name, message in _conflicts(settings):
            errors.setdefault(name, [message])
        if not errors:
            return settings
    raise Invalid(errors)


def _read(name: str, fields: Mapping[str, object], optional: FieldInfo | None) -> object:
    value = fields.get(name, "")
    if value is not None and value != "":
        return _READERS[name](value)
    if optional is None:
        raise ValueError(NOT_NULL if value is None else REQUIRED)
    return optional.default


def _conflicts(settings: HillSettings) -> list[tuple[str, str]]:
    """What is wrong between fields that are right each by itself."""
    wrong: list[tuple[str, str]] = []
    if settings.seconds > settings.interval:
        wrong.append(("timeout", f"Must be at most the interval, {settings.interval} seconds."))
    if settings.jitter > settings.interval / 2:
        wrong.append(("jitter", f"Must be at most half of the interval, {settings.interval / 2:g} seconds."))
    if not settings.url.lower().startswith("https:"):
        message = "Only an https URL can have a certificate or a key."
        wrong.extend((name, message) for name in PEM_FIELDS if getattr(settings, name) is not None)
    if settings.client_certificate is not None and settings.client_key is None:
        wrong.append(("client_key", "A client certificate needs its key."))
    if settings.client_key is not None and settings.client_certificate is None:
        wrong.append(("client_certificate", "A client key needs its certificate."))
    if settings.reset_every is not None and settings.reset_url is None:
        wrong.append(("reset_url", "A reset at intervals needs the URL that resets the target."))
    return wrong


def _integer(least: int, most: int, unit: str) -> Callable[[object], int]:
    def read(value: object) -> int:
        number = _as_integer(value)
        if not least <= number <= most:
            raise ValueError(f"Must be from {least} to {most} {unit}.")
        return number

    return read


def _as_integer(value: object) -> int:
    # The leniency of CTFd: digit strings count, the fraction of a number does not.
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return int(value)
        except (ValueError, OverflowError):
            pass
    raise ValueError("Not a valid integer.")


def _seconds(least: float, most: float) -> Callable[[object], float]:
    def read(value: object) -> float:
        number = math.nan
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                number = math.nan
        if not math.isfinite(number):
            raise ValueError("Not a valid number.")
        if not least <= number <= most:
            raise ValueError(f"Must be from {least:g} to {most:g} seconds.")
        return number

    return read


def _boolean(value: object) -> bool:
    text = str(value).lower() if isinstance(value, bool | int | str) else ""
    if text in {"true", "t", "1", "on"}:
        return True
    if text in {"false", "f", "0"}:
        return False
    raise ValueError("Not a valid boolean.")


def _text(value: object, longest: int) -> str:
    if not isinstance(value, str):
        raise ValueError("Not a valid string.")  # noqa: TRY004 - the message of a field, not a defect
    if len(value) > longest:
        raise ValueError(f"Longer than maximum length {longest}.")
    return value


def _key(value: object) -> str:
    key = _text(value, LONGEST_KEY)
    if not key.isprintable() or key != key.strip():
        raise ValueError("Must not hold control characters, nor blanks at its ends.")
    return key


def _pem(value: object) -> str:
    text = _text(value, LONGEST_PEM)
    if "-----BEGIN " not in text:
        raise ValueError("Must be PEM text.")
    return text


def _url(value: object) -> str:
    return checked_url(_text(value, LONGEST_PEM))


_READERS: Final[Mapping[str, Callable[[object], object]]] = {
    "url": _url,
    "interval": _integer(1, LONGEST_INTERVAL, "seconds"),
    "reward": _integer(1, MOST_POINTS, "points"),
    "api_key": _key,
    "tls_certificate": _pem,
    "client_certificate": _pem,
    "client_key": _pem,
    "timeout": _seconds(0.05, LONGEST_INTERVAL),
    "health_gate": _boolean,
    "jitter": _seconds(0, LONGEST_INTERVAL / 2),
    "confirm_ticks": _integer(1, MOST_CONFIRM_TICKS, "ticks"),
    "hold_bonus": _integer(0, MOST_POINTS, "points"),
    "target_url": _url,
    "reset_url": _url,
    "reset_every": _integer(1, LONGEST_RESET_MINUTES, "minutes"),
}
