"""One object on its way into a bucket, and one that is read from it; neither is in memory as a whole."""

from __future__ import annotations

import secrets
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError
from twisted.logger import Logger

from ctfd_twisted.files.content import StoreTrouble
from ctfd_twisted.files.rules import content_type
from ctfd_twisted.settings import Bucket

#: What an object says of the upload that it came by: another may have been at its key before.
_MARK: Final = "upload"


class Wire(Protocol):
    """The way to a bucket; ``s3.S3`` is the one there is."""

    bucket: Bucket
    #: Bytes of each piece but the last.
    piece: int

    @property
    def client(self) -> Any:
        """boto3's client."""

    def reaching(self) -> AbstractContextManager[None]:
        """Within it, what goes wrong is ``StoreTrouble``."""

    def key(self, location: str) -> str | None:
        """The key of a location."""

    def copy(self, source: str, key: str) -> None:
        """Copy an object."""


class StagedObject:
    """An object that goes to its *key* in pieces as it comes; a bucket shows nothing of it until it is completed."""

    _log = Logger()

    def __init__(self, wire: Wire, key: str) -> None:
        self._wire = wire
        self._at = {"Bucket": wire.bucket.name, "Key": key}
        self._key = key
        self._held = bytearray()
        self._upload: str | None = None
        self._sent: list[dict[str, Any]] = []
        self._mark = secrets.token_hex(8)

    def write(self, data: bytes | bytearray) -> None:
        """Take the next bytes, and send a piece when it is full. Raises ``StoreTrouble``."""
        self._held += data
        size = self._wire.piece
        while len(self._held) >= size:
            self._send(bytes(memoryview(self._held)[:size]))
            del self._held[:size]

    def close(self) -> None:
        """Send the last piece, whatever its size. Raises ``StoreTrouble``."""
        if self._held:
            self._send(bytes(self._held))
            self._held.clear()

    def keep(self, location: str) -> None:
        """Complete it, and, where it is wanted elsewhere than it was begun, copy it there. Raises ``StoreTrouble``."""
        key = self._wire.key(location)
        if key is None:
            raise StoreTrouble(f"{location!r} is no location in a bucket")
        self._complete()
        if key != self._key:
            self._wire.copy(self._key, key)
            with self._wire.reaching():
                self._wire.client.delete_object(**self._at)

    def discard(self) -> None:
        """Abort it unless it is complete; what can't be aborted now is forgotten later."""
        self._held.clear()
        if self._upload is None:
            return
        try:
            with self._wire.reaching():
                self._wire.client.abort_multipart_upload(**self._at, UploadId=self._upload)
        except StoreTrouble as trouble:
            self._log.warn("an upload can't be aborted: {trouble}", trouble=trouble)
        self._upload = None

    def _send(self, piece: bytes) -> None:
        client = self._wire.client
        with self._wire.reaching():
            if self._upload is None:
                begun = client.create_multipart_upload(
                    **self._at, ContentType=content_type(self._key), Metadata={_MARK: self._mark}
                )
                self._upload = begun["UploadId"]
            number = len(self._sent) + 1
            sent = client.upload_part(**self._at, UploadId=self._upload, PartNumber=number, Body=piece)
            self._sent.append({"ETag": sent["ETag"], "PartNumber": number})

    def _complete(self) -> None:
        client = self._wire.client
        with self._wire.reaching():
            if self._upload is None:  # an upload in pieces has at least one, so what is empty can't come so
                client.put_object(**self._at, Body=b"", ContentType=content_type(self._key))
                return
            try:
                client.complete_multipart_upload(
                    **self._at, UploadId=self._upload, MultipartUpload={"Parts": self._sent}
                )
            except (BotoCoreError, ClientError):
                # An answer may be too long in coming, and whoever asks again is told that there is no such upload.
                if not self._is_there():
                    raise
        self._upload = None

    def _is_there(self) -> bool:
        try:
            head = self._wire.client.head_object(**self._at)
        except (BotoCoreError, ClientError):
            return False
        return bool(head["Metadata"].get(_MARK) == self._mark)


class BucketObject:
    """One version of an object, read from a bucket from any position on."""

    def __init__(self, wire: Wire, key: str, etag: str) -> None:
        self._wire = wire
        self._of = {"Bucket": wire.bucket.name, "Key": key, "IfMatch": etag}
        self._position = 0
        self._body: Any = None

    def seek(self, position: int, /) -> int:
        """Read from *position* on."""
        self.close()
        self._position = position
        return position

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end. Raises ``StoreTrouble``."""
        with self._wire.reaching():
            if self._body is None:
                self._body = self._begin()
            if self._body is None:
                return b""
            data: bytes = self._body.read(size)
        self._position += len(data)
        return data

    def close(self) -> None:
        """Leave the connection."""
        body, self._body = self._body, None
        if body is not None:
            body.close()

    def _begin(self) -> Any:
        try:
            return self._wire.client.get_object(**self._of, Range=f"bytes={self._position}-")["Body"]
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "InvalidRange":
                return None  # at the end, where nothing is left
            raise
