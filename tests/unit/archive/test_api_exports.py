"""Claims about downloads of the whole competition, and of single tables and reports."""

import csv
import io
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ctfd_twisted.archive.reports import REPORTS
from ctfd_twisted.archive.store import ctfd_tables
from ctfd_twisted.challenges.tables import files
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.archives import read_archive
from ctfd_twisted.testing.builders import a_user

Make = Callable[..., Any]

RAW = "/api/v1/exports/raw"
STAMP = r"\d{4}-\d{2}-\d{2}_\d{2}:\d{2}:\d{2}"


def cells(body: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(body, newline="")))


def test_an_empty_object_asks_for_everything(platform: MemoryPlatform) -> None:
    answer = platform.admin().post(RAW, {})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/zip")
    assert re.fullmatch(f'attachment; filename="Test CTF.{STAMP}.zip"', answer.headers["content-disposition"])
    assert answer.headers["cache-control"] == "no-cache"
    archive = read_archive(answer.body)
    assert [row["name"] for row in archive["db/users.json"]["results"]] == ["admin"]
    assert archive["db/teams.json"] is None


@pytest.mark.parametrize("body", [{"type": "all"}, {"type": None, "args": None}, {"args": {"table": "users"}}])
def test_another_type_asks_for_everything_too(platform: MemoryPlatform, body: Any) -> None:
    assert platform.admin().post(RAW, body).headers["content-type"] == "application/zip"


def test_a_table_comes_as_csv(platform: MemoryPlatform) -> None:
    answer = platform.admin().post(RAW, {"type": "csv", "args": {"table": "users"}})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert re.fullmatch(f'attachment; filename="Test CTF-users-{STAMP}.csv"', answer.headers["content-disposition"])
    header, row = cells(answer.text)
    assert dict(zip(header, row, strict=True))["name"] == "admin"


@pytest.mark.parametrize("body", [{"type": "csv"}, {"type": "csv", "args": {}}, {"type": "csv", "args": {"table": ""}}])
def test_a_table_must_be_named(platform: MemoryPlatform, body: Any) -> None:
    answer = platform.admin().post(RAW, body)
    assert (answer.status, answer.json) == (400, {"success": False, "errors": {"args": "Missing table to export"}})


@pytest.mark.parametrize(
    "name", ["nothing", "ctfp_secrets", "alembic_version", "users; DROP TABLE users", 5, ["users"]]
)
def test_an_unknown_table_is_named(platform: MemoryPlatform, name: Any) -> None:
    answer = platform.admin().post(RAW, {"type": "csv", "args": {"table": name}})
    assert answer.status == 400
    assert str(name) in answer.errors["args"]


def test_a_body_is_an_object(platform: MemoryPlatform) -> None:
    assert platform.admin().post(RAW, []).status == 500
    assert platform.admin().post(RAW, {"type": "csv", "args": "users"}).status == 400


def test_scripts_of_others_are_refused(platform: MemoryPlatform) -> None:
    player = platform.player("ada")
    assert player.post(RAW, {}).status == 403
    assert platform.client().post(RAW, {}, content_type="application/json").status == 403
    for path in ("/admin/export", "/admin/export/csv?table=users"):
        assert player.get(path).status == 403
        assert platform.client().get(path).location.startswith("/login?next=")


def test_ten_exports_a_minute_are_enough(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    body = {"type": "csv", "args": {"table": "tags"}}
    assert [admin.post(RAW, body).status for _ in range(11)] == [*[200] * 10, 429]
    platform.clock.advance(60)
    assert admin.post(RAW, body).status == 200


def test_the_page_downloads_by_address_and_by_form(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    by_address = admin.get("/admin/export")
    assert by_address.headers["content-type"] == "application/zip"
    assert int(by_address.headers.get("content-length", len(by_address.body))) == len(by_address.body)
    assert "db/users.json" in read_archive(by_address.body)
    assert read_archive(admin.request("POST", "/admin/export").body) == read_archive(by_address.body)
    assert admin.request("HEAD", "/admin/export").body == b""


def test_a_form_needs_its_nonce(platform: MemoryPlatform) -> None:
    assert platform.client().request("POST", "/admin/export", data={"nonce": "0"}).status == 403


def test_a_sheet_has_an_address(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    for address in ("users%2Bfields", "users+fields"):
        answer = admin.get(f"/admin/export/csv?table={address}")
        assert answer.headers["content-disposition"] == 'attachment; filename="Test CTF-users+fields.csv"'
        assert answer.text.startswith("id,oauth_id,name,password,email,type,")
        assert answer.text.count("\r\n") == 2
    unknown = admin.get("/admin/export/csv?table=<b>")
    assert (unknown.status, "called &#39;&lt;b&gt;&#39;" in unknown.text) == (404, True)
    assert admin.get("/admin/export/csv").status == 400


def test_the_page_leads_to_every_sheet(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    page = admin.get("/admin/backup").text
    names = [*REPORTS, *(table.name for table in ctfd_tables())]
    assert re.findall(r'/admin/export/csv\?table=[^"]+" download>([^<]+)<', page) == names
    for name in names:
        assert admin.get(f"/admin/export/csv?table={name}").status == 200
        platform.clock.advance(60)
    assert platform.player("ada").get("/admin/backup").status == 403


def test_uploads_are_in_the_archive(platform: MemoryPlatform, make: Make, tmp_path: Path) -> None:
    contents = {"aa/one.txt": b"1", "bb/zwei ü.bin": bytes(range(256)) * 4096, "cc/a..b.txt": b"dots"}
    for location, content in contents.items():
        path = tmp_path / "uploads" / location
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        make(insert_row, files, {"type": "standard", "location": location})
    for missing in ("dd/gone.txt", "../secret_key", "/etc/hostname", "aa/one.txt", None):
        make(insert_row, files, {"type": "standard", "location": missing})
    archive = read_archive(platform.admin().get("/admin/export").body)
    assert archive["uploads/aa/one.txt"] == b"1"
    assert archive["uploads/bb/zwei ü.bin"] == contents["bb/zwei ü.bin"]
    # CTFd refuses an archive with two dots in the name of any member.
    assert not any(".." in name or name.startswith("/") or "//" in name for name in archive)
    told = archive["ctfd-twisted/manifest.json"]
    ((apart, location),) = told["apart"].items()
    assert (location, archive[apart]) == ("cc/a..b.txt", b"dots")
    assert told["missing"] == ["../secret_key", "/etc/hostname", "dd/gone.txt"]
    assert len(archive["db/files.json"]["results"]) == 8


def test_nothing_stays_on_the_disk(platform: MemoryPlatform, tmp_path: Path) -> None:
    assert platform.admin().get("/admin/export").status == 200
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_competition_does_no_harm(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(ctf_name='Größe "1"\r\nX: y')
    make(a_user, name="ada", created=datetime(2026, 1, 1, tzinfo=UTC))
    answer = platform.admin().get("/admin/export/csv?table=tags")
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22%0D")
    assert "x" not in answer.headers
