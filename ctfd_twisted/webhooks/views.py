"""How stored things look in answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from ctfd_twisted.http.dates import iso


def shown(value: Struct) -> dict[str, Any]:
    """The fields of *value*, with its instants as ISO 8601."""
    fields = msgspec.structs.asdict(value)
    return {name: iso(field) if isinstance(field, datetime) else field for name, field in fields.items()}
