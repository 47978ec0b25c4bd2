"""Where uploads are kept: a folder, or a bucket of S3, which CTFd's variables may name too."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, TypeVar, cast
from urllib.parse import urlsplit

from msgspec.structs import replace

from ctfd_twisted.settings import Bucket, SettingsError, values
from ctfd_twisted.settings.sources import Sources, wrong

T = TypeVar("T")

_SCHEME: Final = "s3://"
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{3,255}")
_DOMAIN: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(:\d{1,5})?")
_REGION: Final = re.compile(r"[a-z0-9-]+")
_STYLES: Final = ("auto", "path", "virtual")


def find_uploads(sources: Sources, default: Path) -> Path | Bucket:
    """Where uploads are kept; raises ``SettingsError``.

    ``UPLOAD_PROVIDER`` is ``s3`` or ``filesystem`` and decides whether CTFd's variables name a bucket or a folder.
    """
    provider = sources.variable("UPLOAD_PROVIDER")
    if provider not in {None, "filesystem", "s3"}:
        raise SettingsError(f"UPLOAD_PROVIDER: expected filesystem or s3; found {provider!r}")
    found = sources.find("uploads", but=() if provider == "s3" else ("UPLOAD_PROVIDER",))
    if found is None:
        return default
    if found.origin == "UPLOAD_PROVIDER":
        return _described(sources, _named(sources))
    place = sources.one("uploads", default, uploads, but=() if provider == "s3" else ("UPLOAD_PROVIDER",))
    if isinstance(place, Path):
        return place
    if not _has_boto3():
        raise wrong("uploads", found, f"a directory; for a bucket {_MISSING}")
    return _described(sources, place)


def uploads(text: str) -> Path | Bucket:
    """A directory, which need not be there yet, or ``s3://BUCKET`` with perhaps a prefix behind a slash."""
    if text.startswith(_SCHEME):
        name, _, prefix = text.removeprefix(_SCHEME).partition("/")
        return Bucket(bucket_name(name), key_prefix(prefix))
    if "://" in text:
        raise ValueError("a directory, or s3://BUCKET/PREFIX")
    return values.path(text)


def bucket_name(text: str) -> str:
    """The name of a bucket."""
    if not _NAME.fullmatch(text):
        raise ValueError("a bucket's name of 3 letters, digits, dots and dashes or more, such as s3://ctf-files/2026")
    return text


def key_prefix(text: str) -> str:
    """What keys begin with: nothing, or names that end with a slash."""
    parts = [part for part in text.split("/") if part]
    if not text.isprintable() or {".", ".."} & set(parts):
        raise ValueError("a prefix of names with slashes between them")
    return "".join(f"{part}/" for part in parts)


def endpoint_url(text: str) -> str:
    """Where a server that speaks like S3 answers. Keys do not belong into it: it stands in messages."""
    expected = "a URL of scheme http or https and a host, such as https://s3.example.org"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(expected) from None
    readable = text.isascii() and text.isprintable() and " " not in text
    if parts.scheme not in {"http", "https"} or not host or not readable:
        raise ValueError(expected)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"{expected}, without a user, a query or a fragment")
    return text


def domain(text: str) -> str:
    """A host that downloads come from, perhaps with a port."""
    if not _DOMAIN.fullmatch(text):
        raise ValueError("a host name such as files.example.org")
    return text


def region(text: str) -> str:
    """The name of a region."""
    if not _REGION.fullmatch(text):
        raise ValueError("a region's name such as eu-central-1")
    return text


def addressing_style(text: str) -> Literal["auto", "path", "virtual"]:
    """How a bucket is named in addresses."""
    if text not in _STYLES:
        raise ValueError("auto, path or virtual")
    return cast("Literal['auto', 'path', 'virtual']", text)


_MISSING: Final = "boto3 is needed: pip install 'ctfd-twisted[s3]'"


def _has_boto3() -> bool:
    return find_spec("boto3") is not None


def _named(sources: Sources) -> Bucket:
    name = _variable(sources, "AWS_S3_BUCKET", bucket_name)
    if name is None:
        raise SettingsError("UPLOAD_PROVIDER=s3: expected the bucket's name in AWS_S3_BUCKET, which is not set")
    if not _has_boto3():
        raise SettingsError(f"UPLOAD_PROVIDER=s3: {_MISSING}")
    return Bucket(name, _variable(sources, "AWS_S3_CUSTOM_PREFIX", key_prefix) or "")


def _described(sources: Sources, bucket: Bucket) -> Bucket:
    return replace(
        bucket,
        endpoint_url=_variable(sources, "AWS_S3_ENDPOINT_URL", endpoint_url),
        region=_variable(sources, "AWS_S3_REGION", region),
        custom_domain=_variable(sources, "AWS_S3_CUSTOM_DOMAIN", domain),
        addressing_style=_variable(sources, "AWS_S3_ADDRESSING_STYLE", addressing_style) or "auto",
    )


def _variable(sources: Sources, name: str, parse: Callable[[str], T]) -> T | None:
    text = sources.variable(name)
    try:
        return None if text is None else parse(text)
    except ValueError as error:
        raise SettingsError(f"{name}: expected {error}; found {values.masked_url(text or '')!r}") from None
