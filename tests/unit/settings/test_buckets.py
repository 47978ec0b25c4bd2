"""Claims about where uploads are kept: a folder or a bucket, as this platform and as CTFd name them."""

import sys
from pathlib import Path

import pytest

from ctfd_twisted.ops.check_config import report
from ctfd_twisted.settings import Bucket, SettingsError
from ctfd_twisted.settings.reading import Configuration, read_configuration
from ctfd_twisted.settings.table import S3

ROOT = Path(__file__).parents[3]
MANUAL = (ROOT / "docs" / "operations.md").read_text()
OF_CTFD = {"UPLOAD_PROVIDER": "s3", "AWS_S3_BUCKET": "ctf-files"}


def configuration(uploads: str | None = None, **environ: str) -> Configuration:
    return read_configuration({} if uploads is None else {"uploads": uploads}, environ, create=False)


def uploads_of(uploads: str | None = None, **environ: str) -> Path | Bucket:
    return configuration(uploads, **environ).settings.uploads


@pytest.mark.parametrize(
    ("text", "bucket"),
    [
        ("s3://ctf-files", Bucket("ctf-files")),
        ("s3://ctf-files/", Bucket("ctf-files")),
        ("s3://ctf.files/2026", Bucket("ctf.files", "2026/")),
        ("s3://ctf-files//a/b c/", Bucket("ctf-files", "a/b c/")),
    ],
)
def test_a_bucket_is_named_by_an_address(text: str, bucket: Bucket) -> None:
    assert uploads_of(text) == bucket


def test_ctfds_variables_name_a_bucket() -> None:
    found = uploads_of(
        **OF_CTFD,
        AWS_S3_CUSTOM_PREFIX="2026",
        AWS_S3_ENDPOINT_URL="http://127.0.0.1:9000",
        AWS_S3_REGION="eu-central-1",
        AWS_S3_CUSTOM_DOMAIN="files.example.org",
        AWS_S3_ADDRESSING_STYLE="path",
    )
    place = ("http://127.0.0.1:9000", "eu-central-1", "files.example.org")
    assert found == Bucket("ctf-files", "2026/", *place, addressing_style="path")


def test_the_address_of_a_bucket_is_described_by_ctfds_variables() -> None:
    found = uploads_of("s3://mine", AWS_S3_BUCKET="other", AWS_S3_CUSTOM_PREFIX="x", AWS_S3_REGION="r-1")
    assert found == Bucket("mine", region="r-1")


def test_the_stronger_source_says_where_uploads_are(tmp_path: Path) -> None:
    folder, toml = tmp_path / "folder", tmp_path / "ctf.toml"
    toml.write_text(f'uploads = "{tmp_path / "file"}"')
    ctfds = {"UPLOAD_FOLDER": str(folder)}
    assert uploads_of(**OF_CTFD, **ctfds) == Bucket("ctf-files")
    assert uploads_of(str(tmp_path), **OF_CTFD) == tmp_path
    assert uploads_of(CTFPLATFORM_UPLOADS=str(tmp_path), **OF_CTFD) == tmp_path
    assert uploads_of(CTFPLATFORM_CONFIG=str(toml), **OF_CTFD) == Bucket("ctf-files")
    filesystem = {**OF_CTFD, "UPLOAD_PROVIDER": "filesystem"}
    assert uploads_of(**filesystem, **ctfds) == folder
    assert uploads_of(CTFPLATFORM_CONFIG=str(toml), **filesystem) == tmp_path / "file"
    assert configuration(**OF_CTFD, **ctfds).origins["uploads"] == "UPLOAD_PROVIDER"


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"UPLOAD_PROVIDER": "azure"}, "UPLOAD_PROVIDER: expected filesystem or s3; found 'azure'"),
        (
            {"UPLOAD_PROVIDER": "s3"},
            "UPLOAD_PROVIDER=s3: expected the bucket's name in AWS_S3_BUCKET, which is not set",
        ),
        ({**OF_CTFD, "AWS_S3_BUCKET": "a/b"}, "AWS_S3_BUCKET: expected a bucket's name"),
        ({**OF_CTFD, "AWS_S3_CUSTOM_PREFIX": "../x"}, "AWS_S3_CUSTOM_PREFIX: expected a prefix"),
        ({**OF_CTFD, "AWS_S3_ENDPOINT_URL": "minio:9000"}, "AWS_S3_ENDPOINT_URL: expected a URL"),
        ({**OF_CTFD, "AWS_S3_ENDPOINT_URL": "http://h:x"}, "AWS_S3_ENDPOINT_URL: expected a URL"),
        ({**OF_CTFD, "AWS_S3_REGION": "eu central"}, "AWS_S3_REGION: expected a region's name"),
        ({**OF_CTFD, "AWS_S3_CUSTOM_DOMAIN": "http://h"}, "AWS_S3_CUSTOM_DOMAIN: expected a host name"),
        ({**OF_CTFD, "AWS_S3_ADDRESSING_STYLE": "dns"}, "AWS_S3_ADDRESSING_STYLE: expected auto, path or virtual"),
        ({"CTFPLATFORM_UPLOADS": "s3://a"}, "--uploads: expected a bucket's name"),
        ({"CTFPLATFORM_UPLOADS": "s3://"}, "--uploads: expected a bucket's name"),
        ({"CTFPLATFORM_UPLOADS": "gs://bucket"}, "--uploads: expected a directory, or s3://BUCKET/PREFIX"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(environ: dict[str, str], line: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        uploads_of(**environ)
    assert str(wrong.value).startswith(line)
    assert "\n" not in str(wrong.value)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(SettingsError) as wrong:
        uploads_of(**OF_CTFD, AWS_S3_ENDPOINT_URL="https://key:geheim@s3.example.org")
    assert "geheim" not in str(wrong.value)


@pytest.mark.parametrize("environ", [OF_CTFD, {"CTFPLATFORM_UPLOADS": "s3://ctf-files"}])
def test_a_bucket_needs_boto3(monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)  # what Python itself takes for "it is not there"
    with pytest.raises(SettingsError, match=r"boto3 is needed: pip install 'ctfd-twisted\[s3\]'"):
        uploads_of(**environ)


def test_the_report_tells_of_the_bucket_and_of_no_key() -> None:
    environ = {**OF_CTFD, "AWS_S3_CUSTOM_PREFIX": "2026", "AWS_S3_ENDPOINT_URL": "http://127.0.0.1:9000"}
    keys = {"AWS_ACCESS_KEY_ID": "geheim", "AWS_SECRET_ACCESS_KEY": "geheim"}
    lines = list(report(configuration(**environ, **keys), {**environ, **keys}))
    (line,) = [line for line in lines if line.startswith("uploads ")]
    assert "s3://ctf-files/2026/, at http://127.0.0.1:9000" in line
    assert line.endswith("(UPLOAD_PROVIDER)")
    text = "\n".join(lines)
    assert ("geheim" in text, "AWS_" in text) == (False, False)


def test_the_manual_names_every_variable() -> None:
    for name in S3:
        assert f"`{name}`" in MANUAL, name
