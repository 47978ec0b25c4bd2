"""Reading archives, as tests want it."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import ZipFile


def read_archive(body: bytes) -> dict[str, Any]:
    """Every member by its name: JSON is parsed, a table without rows is None, uploads are bytes."""
    with ZipFile(io.BytesIO(body)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    return {
        name: (json.loads(content) if content else None) if name.endswith(".json") else content
        for name, content in contents.items()
    }
