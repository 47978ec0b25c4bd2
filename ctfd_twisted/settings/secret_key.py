"""The key that signs cookies and links: read from a file, which is made on the first start."""

import os
import secrets
from pathlib import Path

SIZE = 64


def read_secret_key(file: Path) -> bytes:
    """The key in *file*, byte for byte. Raises ``OSError``, and ``ValueError`` if it is empty."""
    key = file.read_bytes()
    if not key:
        raise ValueError("a file that is not empty")
    return key


def ensure_secret_key(file: Path) -> bytes:
    """The key in *file*; where there is none, one of 64 random bytes is made that only the owner can read.

    Several processes may start at once: one of them makes the file, and it appears under its name only when it is whole
    and on the disk, so that all end up with the same key.
    """
    try:
        return read_secret_key(file)
    except FileNotFoundError:
        draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(secrets.token_bytes(SIZE))
            opened.flush()
            os.fsync(descriptor)
        try:
            # Unlike a rename, a link fails if another process was first.
            os.link(draft, file)
        except FileExistsError:
            return read_secret_key(file)
    finally:
        draft.unlink()
    _sync_folder(file.parent)
    return read_secret_key(file)


def _sync_folder(folder: Path) -> None:
    """Make a new name in *folder* survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
