"""The store that a deployment has chosen."""

from __future__ import annotations

from pathlib import Path

from ctfd_twisted.files.content import Store
from ctfd_twisted.files.disk import Disk
from ctfd_twisted.settings import Bucket


def store_at(place: Path | Bucket, largest: int, threads: int) -> Store:
    """The files at *place*, for uploads of at most *largest* bytes; so many *threads* will use it at a time."""
    if isinstance(place, Path):
        return Disk(place)
    # boto3 takes half a second and 30 MB, which a platform that keeps files in a folder need not pay, nor install.
    from ctfd_twisted.files.s3 import S3  # noqa: PLC0415

    return S3(place, largest, threads)
