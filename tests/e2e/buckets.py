"""A server that speaks like S3, over real HTTP on a port of its own, with one bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

import boto3
from botocore.config import Config
from moto.server import ThreadedMotoServer

from ctfd_twisted.settings import Bucket

#: What boto3 finds in the environment; moto asks nobody who they are.
KEYS: Final = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "geheim"}
REGION: Final = "us-east-1"


class BucketServer:
    """The server; within it ``url`` is where it answers, and ``client`` is boto3's."""

    name = "ctf-files"

    def __enter__(self) -> Self:
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.url = f"http://{host}:{port}"
        self.client: Any = boto3.session.Session(KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"]).client(
            "s3", endpoint_url=self.url, region_name=REGION, config=Config(s3={"addressing_style": "path"})
        )
        self.client.create_bucket(Bucket=self.name)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self._server.stop()

    def bucket(self, prefix: str = "") -> Bucket:
        """The bucket as settings have it."""
        return Bucket(self.name, prefix, self.url, REGION, addressing_style="path")

    def environment(self, prefix: str = "") -> Mapping[str, str]:
        """The bucket as CTFd's environment has it, with the keys."""
        return {
            **KEYS,
            "UPLOAD_PROVIDER": "s3",
            "AWS_S3_BUCKET": self.name,
            "AWS_S3_CUSTOM_PREFIX": prefix,
            "AWS_S3_ENDPOINT_URL": self.url,
            "AWS_S3_REGION": REGION,
            "AWS_S3_ADDRESSING_STYLE": "path",
        }

    def objects(self) -> dict[str, bytes]:
        """Everything that is in the bucket."""
        keys = [one["Key"] for one in self.client.list_objects_v2(Bucket=self.name).get("Contents", ())]
        return {key: self.client.get_object(Bucket=self.name, Key=key)["Body"].read() for key in keys}

    def uploads(self) -> list[str]:
        """The keys of what has begun to come and is not complete."""
        return [one["Key"] for one in self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", ())]

    def empty(self) -> None:
        """Remove everything."""
        for key in self.objects():
            self.client.delete_object(Bucket=self.name, Key=key)
        for one in self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", ()):
            self.client.abort_multipart_upload(Bucket=self.name, Key=one["Key"], UploadId=one["UploadId"])
