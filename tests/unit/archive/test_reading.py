"""Claims about archives of others, who may mean harm."""

import io
import json
import stat
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctfd_twisted.archive import reading
from ctfd_twisted.archive.reading import Archive, CannotImport, Row
from ctfd_twisted.archive.uploads import acceptable

VERSION = json.dumps({"count": 1, "results": [{"version_num": "8275865e5992"}], "meta": {}})


def archive(*members: tuple[str | ZipInfo, str | bytes], version: str = VERSION) -> io.BytesIO:
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as made:
        for name, content in (("db/alembic_version.json", version), *members):
            made.writestr(name, content)
    return file


def rows(content: str | bytes) -> list[Row]:
    opened = Archive(archive(("db/tags.json", content)))
    return list(opened.rows("db/tags.json", lambda _: None))


def why(file: io.BytesIO) -> str:
    with pytest.raises(CannotImport) as refused:
        Archive(file).revision()
    return str(refused.value)


@given(
    st.lists(
        st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.text(), st.lists, max_leaves=5)),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=40)
def test_rows_come_as_they_were_written(written: list[dict[str, Any]]) -> None:
    table = {"count": len(written), "results": written, "meta": {}}
    assert rows(json.dumps(table)) == written
    assert rows(json.dumps(table, ensure_ascii=False, separators=(",", ":"), indent=1)) == written


def test_rows_longer_than_a_piece_come_whole() -> None:
    written = [{"content": "ü" * size} for size in (1, reading._PIECE - 1, reading._PIECE, 3 * reading._PIECE, 0)]
    assert rows(json.dumps({"count": 5, "results": written, "meta": {}})) == written


@pytest.mark.parametrize("content", ["", " \n", '{"count":0,"results":[],"meta":{}}'])
def test_empty_tables_have_no_rows(content: str) -> None:
    assert rows(content) == []


@pytest.mark.parametrize(
    "content",
    [
        *("null", "[]", '{"count":1}', '{"count":1,"results":[', '{"count":1,"results":[{"id":1}', b"\xff\xfe"),
        *(
            '{"count":1,"results":[1]}',
            '{"count":1,"results":[{"id":NaN}]}',
            '{"count":1,"results":[{"a":' + "[" * 9999,
        ),
    ],
)
def test_what_is_no_table_is_told(content: str | bytes) -> None:
    with pytest.raises(CannotImport, match=r"db/tags\.json"):
        rows(content)


def test_what_is_no_zip_is_told() -> None:
    assert why(io.BytesIO(b"PK nothing")) == "zipfile is invalid"
    assert why(io.BytesIO()) == "zipfile is invalid"


def link() -> ZipInfo:
    member = ZipInfo("uploads/aa/link")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


@pytest.mark.parametrize(
    "name",
    [*("/etc/passwd", "../a", "uploads/../../a", "uploads/a/..", "uploads//a", "a\\\\b", "\\a", "C:/a"), link()],
)
def test_names_that_lead_out_are_refused(name: str | ZipInfo) -> None:
    assert why(archive((name, "target"))) == "zipfile is malicious"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_stands_there_twice_is_refused() -> None:
    assert why(archive(("db/tags.json", ""), ("db/tags.json", ""))) == "zipfile is malicious"


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BYTES", 10_000)
    assert why(archive(("uploads/aa/zeros", bytes(20_000)))) == "zipfile is too large"
    monkeypatch.setattr(reading, "MEMBERS", 2)
    assert why(archive(("db/tags.json", ""), ("db/flags.json", ""))) == "zipfile is too large"


def test_broken_bytes_are_told() -> None:
    body = bytearray(archive(("uploads/aa/file", b"0123456789" * 100)).getvalue())
    place = body.index(b"uploads/aa/file") + len(b"uploads/aa/file")
    body[place] ^= 0xFF
    opened = Archive(io.BytesIO(bytes(body)))
    with pytest.raises(CannotImport, match="uploads/aa/file can't be read"):
        list(opened.pieces("uploads/aa/file", lambda _: None))


def test_without_tables_it_is_no_archive() -> None:
    file = io.BytesIO()
    with ZipFile(file, "w") as made:
        made.writestr("dump/users.json", "")
    assert why(file) == "db folder is missing"


@pytest.mark.parametrize("version", ["", "{}", '{"count":0,"results":[],"meta":{}}', '{"count":1,"results":[{"a":1}]}'])
def test_without_a_revision_it_is_not_known_what_it_is(version: str) -> None:
    assert why(archive(version=version)) == "Could not determine appropriate database version"


@pytest.mark.parametrize("location", ["aa/b.txt", "aa/b..txt", "a b/c d", "aa/ü.bin", "f" * 255 + "/x"])
def test_uploads_have_a_directory_and_a_name(location: str) -> None:
    assert acceptable(location)


@pytest.mark.parametrize(
    "location",
    [
        *("b.txt", "a/b/c", "a/", "/b", "../b", "a/..", ".incoming/x", "a/.b", "con/a", "a/NUL.txt", "a/b\n", "a\0/b"),
        "a/" + "x" * 256,
    ],
)
def test_others_are_left_where_they_are(location: str) -> None:
    assert not acceptable(location)
