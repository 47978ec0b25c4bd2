"""Files without a name, for archives on their way."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import BinaryIO


def unnamed_file(folder: Path) -> BinaryIO:
    """A new file in *folder*, which is made where it is missing; whatever becomes of this process, it does not stay."""
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)
