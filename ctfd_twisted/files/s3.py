"""Files in a bucket of S3, or of what speaks like it: ``<prefix><location>``, as CTFd lays them out.

Every function here waits for the network. ``boto3`` comes with the extra ``s3``; this module is imported only where a
bucket was chosen.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from ctfd_twisted.files.content import Content, Elsewhere, StoreTrouble
from ctfd_twisted.files.rules import Version, content_type, disposition, is_location
from ctfd_twisted.files.s3_pieces import BucketObject, StagedObject
from ctfd_twisted.settings import Bucket

MEBIBYTE: Final = 1 << 20
#: What a bucket takes at most: pieces of one upload, and bytes of a key.
_PIECES: Final = 10_000
_KEY: Final = 1024
#: Seconds for which the address that a client is sent to is good, and for which the same one is given to everybody, so
#: that browsers know what they have.
GOOD: Final = 3600
GIVEN: Final = GOOD / 2
#: So many of those addresses are kept.
_ADDRESSES: Final = 4096
#: The age of an upload that nobody goes on with.
_FORGOTTEN: Final = timedelta(days=1)
#: The keys below the prefix that are ours to forget: others may use the bucket too.
_OURS: Final = re.compile(r"[0-9a-f]{32}/[A-Za-z0-9_.-]+")
_NOT_THERE: Final = frozenset({"404", "NoSuchKey", "NotFound"})
#: One request at a time, in the thread that asks for it.
_ONE_BY_ONE: Final = TransferConfig(use_threads=False)


class S3:
    """The part of *bucket* below its prefix.

    *largest* is the size of the largest upload in bytes; so many *threads* ask at a time. Who may use the bucket is
    found where ``boto3`` looks: the environment, its own files, the machine's role. *clock* counts seconds.
    """

    def __init__(self, bucket: Bucket, largest: int, threads: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.bucket = bucket
        # At least what a bucket wants a piece to have, and so many that the largest upload fits.
        self.piece = max(8, -(-largest // (_PIECES * MEBIBYTE))) * MEBIBYTE
        self._threads = threads
        self._clock = clock
        self._lock = threading.Lock()
        self._made: Any = None
        self._addresses: dict[str, tuple[Elsewhere, float]] = {}

    def check(self) -> None:
        """Ask the bucket for what is in it; raises ``StoreTrouble``, which says why, where it does not answer."""
        with self.reaching():
            self.client.list_objects_v2(Bucket=self.bucket.name, Prefix=self.bucket.prefix, MaxKeys=1)

    @property
    def client(self) -> Any:
        """The one client, which threads share; making it takes a second, and no network."""
        with self._lock:
            if self._made is None:
                self._made = _client(self.bucket, self._threads)
            return self._made

    def key(self, location: str) -> str | None:
        """The key of *location*; ``None`` for what is no location, or no text that a key can be."""
        key = self.bucket.prefix + location
        try:
            return key if is_location(location) and len(key.encode()) <= _KEY else None
        except UnicodeEncodeError:
            return None

    def open(self, location: str) -> Content | None:
        """The object at *location*; ``None`` where there is none. Raises ``StoreTrouble``."""
        key = self.key(location)
        head = None if key is None else self._head(key)
        if key is None or head is None:
            return None
        modified = int(head["LastModified"].timestamp()) * 10**9
        return Content(BucketObject(self, key, head["ETag"]), Version(head["ContentLength"], modified))

    def offer(self, location: str, name: str, method: str) -> Elsewhere | None:
        """A signed address at which the bucket itself sends the object, with ranges; ``None`` where there is none.

        Raises ``StoreTrouble``.
        """
        asked, now = "head_object" if method == "HEAD" else "get_object", self._clock()
        remembered = f"{asked} {location}"
        address, until = self._addresses.get(remembered, (None, now))
        if address is not None and now < until:
            return address
        key = self.key(location)
        if key is None or self._head(key) is None:
            return None
        address = Elsewhere(self._signed(asked, key, name))
        with self._lock:
            while len(self._addresses) >= _ADDRESSES:
                self._addresses.pop(next(iter(self._addresses)))
            self._addresses[remembered] = (address, now + GIVEN)
        return address

    def stage(self, location: str) -> StagedObject:
        """A new object, which goes to the bucket in pieces, and of which nobody sees anything until it is kept."""
        key = self.key(location)
        if key is None:
            raise StoreTrouble(f"{location!r} is no location in a bucket")
        return StagedObject(self, key)

    def copy(self, source: str, key: str) -> None:
        """Copy the object *source* to *key*, within the bucket, whatever its size. Raises ``StoreTrouble``."""
        name = self.bucket.name
        with self.reaching():
            self.client.copy({"Bucket": name, "Key": source}, name, key, Config=_ONE_BY_ONE)

    def remove(self, location: str, *, directory: bool) -> None:
        """Remove the object at *location*; a bucket has no directories. Raises ``StoreTrouble``."""
        del directory
        key = self.key(location)
        with self._lock:
            for asked in ("get_object", "head_object"):
                self._addresses.pop(f"{asked} {location}", None)
        if key is not None:
            with self.reaching():
                self.client.delete_object(Bucket=self.bucket.name, Key=key)

    def forget(self) -> None:
        """Abort uploads of ours that were begun a day ago. Raises ``StoreTrouble``."""
        of_bucket = {"Bucket": self.bucket.name, "Prefix": self.bucket.prefix}
        with self.reaching():
            for page in self.client.get_paginator("list_multipart_uploads").paginate(**of_bucket):
                for left in page.get("Uploads", ()):
                    ours = _OURS.fullmatch(left["Key"].removeprefix(self.bucket.prefix))
                    if ours and left["Initiated"] < datetime.now(UTC) - _FORGOTTEN:
                        self.client.abort_multipart_upload(
                            Bucket=self.bucket.name, Key=left["Key"], UploadId=left["UploadId"]
                        )

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Whatever goes wrong on the way to the bucket becomes ``StoreTrouble``."""
        try:
            yield
        except ClientError as error:
            said = error.response.get("Error", {})
            raise self._trouble(f"{said.get('Code')}: {said.get('Message')}") from error
        except (BotoCoreError, Boto3Error) as error:
            raise self._trouble(str(error)) from error
        except (ResponseParserError, KeyError) as error:
            raise self._trouble("what answers does not speak like S3") from error

    def _trouble(self, why: str) -> StoreTrouble:
        return StoreTrouble(f"bucket {self.bucket.name!r} can't be reached: {' '.join(why.split())}")

    def _head(self, key: str) -> Any:
        with self.reaching():
            try:
                return self.client.head_object(Bucket=self.bucket.name, Key=key)
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") in _NOT_THERE:
                    return None
                raise

    def _signed(self, asked: str, key: str, name: str) -> str:
        said = {
            "ResponseContentDisposition": disposition(name),
            "ResponseContentType": content_type(name),
            "ResponseCacheControl": "private, max-age=3600",
        }
        with self.reaching():
            url: str = self.client.generate_presigned_url(
                asked, Params={"Bucket": self.bucket.name, "Key": key, **said}, ExpiresIn=GOOD
            )
        domain = self.bucket.custom_domain
        return url if domain is None else urlsplit(url)._replace(netloc=domain).geturl()


def _client(bucket: Bucket, threads: int) -> Any:
    return boto3.session.Session().client(
        "s3",
        endpoint_url=bucket.endpoint_url,
        region_name=bucket.region,
        config=Config(
            signature_version="s3v4",
            connect_timeout=5,
            read_timeout=60,
            retries={"mode": "standard", "total_max_attempts": 4},
            max_pool_connections=threads,
            s3={"addressing_style": bucket.addressing_style},
            # Sums beyond what S3 itself demands are not understood by all that speak like it.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )
