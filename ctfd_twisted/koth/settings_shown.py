"""A hill's settings as they are read by administrators, and as they may be sent. Pure."""

from __future__ import annotations

from typing import Final, TypedDict

import msgspec
from msgspec import UNSET, UnsetType

from ctfd_twisted.koth.settings import HillSettings


class HillSettingsShown(TypedDict, total=False):
    """What an administrator reads of a hill's settings; the timeout is the one that counts."""

    url: str
    interval: int
    reward: int
    api_key: str | None
    tls_certificate: str | None
    client_certificate: str | None
    client_key: str | None
    timeout: float
    health_gate: bool
    jitter: float
    confirm_ticks: int
    hold_bonus: int
    target_url: str | None
    reset_url: str | None
    reset_every: int | None


#: The same settings as a body may name them; who reads them is ``read_settings``.
HillFields: Final = msgspec.defstruct(
    "HillFields", [(field.name, field.type | UnsetType, UNSET) for field in msgspec.structs.fields(HillSettings)]
)


def readout(settings: HillSettings) -> HillSettingsShown:
    """The settings as an administrator reads them: JSON values, the timeout as it counts."""
    return {
        "url": settings.url,
        "interval": settings.interval,
        "reward": settings.reward,
        "api_key": settings.api_key,
        "tls_certificate": settings.tls_certificate,
        "client_certificate": settings.client_certificate,
        "client_key": settings.client_key,
        "timeout": settings.seconds,
        "health_gate": settings.health_gate,
        "jitter": settings.jitter,
        "confirm_ticks": settings.confirm_ticks,
        "hold_bonus": settings.hold_bonus,
        "target_url": settings.target_url,
        "reset_url": settings.reset_url,
        "reset_every": settings.reset_every,
    }
