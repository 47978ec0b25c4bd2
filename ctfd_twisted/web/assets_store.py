"""The files that pages load, kept in memory from the start: what is served is what was there when the process began."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from ctfd_twisted.http.answers import JSON

STATIC: Final = Path(__file__).parent / "static"

#: What all files together may take in memory, in bytes.
LARGEST: Final = 16 * 1024 * 1024

#: All style sheets as one file, in the order of their names, after the normaliser from npm.
STYLES: Final = "site.css"
_NORMALISER: Final = "vendor/modern-normalize.css"

_COMPRESSED_FROM: Final = 512
_TEXT: Final = ("text/", "application/javascript", "application/json", "image/svg+xml")
_TYPES: Final = {".js": "text/javascript", ".woff2": "font/woff2", ".webm": "audio/webm", ".map": "application/json"}


class Asset(msgspec.Struct, frozen=True):
    """One file: its bytes, the same compressed where that is worth it, its type, and a tag that changes with it."""

    body: bytes
    zipped: bytes | None
    content_type: str
    etag: bytes


class Assets:
    """All files by their path below ``static/``; ``version`` is a short hash over all of them.

    ``complete`` is false while the files from npm are missing (``make assets`` puts them there): pages then work, but
    without htmx and in the browser's own type.
    """

    def __init__(self, files: Mapping[str, Asset]) -> None:
        self._files = dict(files)
        together = hashlib.sha256()
        for path in sorted(self._files):
            together.update(path.encode() + b"\0" + self._files[path].etag)
        # Eight digits: enough to tell two versions apart, and never to be taken for a nonce of 64.
        self.version = together.hexdigest()[:8]
        self.complete = "vendor/htmx.min.js" in self._files and _NORMALISER in self._files

    def get(self, path: str) -> Asset | None:
        """The file at *path*, or None. A path that tries to leave the folder names no file."""
        return self._files.get(path)

    def __contains__(self, path: str) -> bool:
        return path in self._files


def load_assets(folder: Path = STATIC) -> Assets:
    """Read every file below *folder*; raises ``ValueError`` where they take more memory than ``LARGEST``."""
    files: dict[str, Asset] = {}
    total = 0
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or any(part.startswith(".") for part in name.split("/")):
            continue
        body = path.read_bytes()
        total += len(body)
        if total > LARGEST:
            raise ValueError(f"the files below {folder} take more than {LARGEST} bytes")
        files[name] = make_asset(name, body)
    sheets = [_NORMALISER, *(name for name in files if name.startswith("css/"))]
    # It stands beside vendor/, so that url("vendor/…") in it names the fonts.
    files[STYLES] = make_asset(STYLES, b"\n".join(files[name].body for name in sheets if name in files))
    return Assets(files)


def make_asset(name: str, body: bytes) -> Asset:
    """*body* as the file *name*, whose ending says of what type it is."""
    suffix = Path(name).suffix
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name, strict=False)[0] or "application/octet-stream"
    text = kind.startswith(_TEXT)
    zipped = gzip.compress(body, 9, mtime=0) if text and len(body) >= _COMPRESSED_FROM else None
    if zipped is not None and len(zipped) >= len(body):
        zipped = None
    etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'.encode()
    # JSON is UTF-8 by itself, and says so to nobody.
    return Asset(body, zipped, f"{kind}; charset=utf-8" if text and kind != JSON else kind, etag)
