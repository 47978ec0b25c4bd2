"""Which kinds of challenges and flags there are: what the plug-ins bring, looked up once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from twisted.plugin import getPlugins

from ctfd_twisted import plugins
from ctfd_twisted.interfaces import IChallengeType, IFlagType


class DuplicateKind(Exception):
    """Two plug-ins use the same id, so that it is not known which one a stored row means."""


@cache
def challenge_types() -> Mapping[str, IChallengeType]:
    """Every kind of challenge by its id."""
    return by_id(getPlugins(IChallengeType, plugins))


@cache
def flag_types() -> Mapping[str, IFlagType]:
    """Every kind of flag by its id."""
    return by_id(getPlugins(IFlagType, plugins))


def by_id(kinds: Iterable[Any]) -> Mapping[str, Any]:
    """*kinds* by their ids, in the order of these; raises ``DuplicateKind``."""
    found: dict[str, Any] = {}
    for kind in kinds:
        if kind.id in found:
            raise DuplicateKind(f"{kind!r} and {found[kind.id]!r} both call themselves {kind.id!r}")
        found[kind.id] = kind
    return MappingProxyType(dict(sorted(found.items())))
