"""/api/v1/files, but for uploads, and what is left on the disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from twisted.logger import capturedLogs

from ctfd_twisted.challenges.tables import files, solutions
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge

Make = Callable[..., Any]
FILES = "/api/v1/files"


def stored(uploads: Path) -> list[str]:
    return sorted(str(path.relative_to(uploads)) for path in uploads.rglob("*"))


def test_all_of_it_is_for_administrators(platform: MemoryPlatform, put: Make) -> None:
    number = put("abc/a.txt")
    ann = platform.player("ann")
    replies = (ann.get(FILES), ann.get(f"{FILES}/{number}"), ann.delete(f"{FILES}/{number}"))
    assert [reply.status for reply in replies] == [403] * 3


def test_files_are_listed_and_shown(platform: MemoryPlatform, put: Make) -> None:
    first = put("abc/a.txt", sha1sum="0" * 40)
    second = put("def/b.txt", type="page")
    admin = platform.admin()
    shown = [
        {"id": first, "type": "standard", "location": "abc/a.txt", "sha1sum": "0" * 40},
        {"id": second, "type": "page", "location": "def/b.txt", "sha1sum": None},
    ]
    assert admin.get(FILES).data == shown
    assert admin.get(f"{FILES}/{second}").data == shown[1]
    assert admin.get(f"{FILES}?type=page").data == shown[1:]
    assert admin.get(f"{FILES}?location=abc/a.txt").data == shown[:1]
    assert admin.get(f"{FILES}?field=location&q=def").data == shown[1:]
    assert admin.get(f"{FILES}?field=sha1sum&q=0").status == 400
    assert [admin.get(f"{FILES}/{number}").status for number in (99, "x")] == [404, 404]
    assert admin.patch(f"{FILES}/{first}", {}).status == 404


def test_a_file_goes_with_its_directory(platform: MemoryPlatform, put: Make, uploads: Path) -> None:
    put("abc/a.txt")
    number = put("def/b.txt")
    (uploads / "def" / "thumbnail").write_text("left behind")
    admin = platform.admin()
    assert admin.delete(f"{FILES}/{number}").json == {"success": True}
    assert stored(uploads) == ["abc", "abc/a.txt"]
    assert [admin.delete(f"{FILES}/{number}").status, admin.get("/files/def/b.txt").status] == [404, 404]


def test_what_others_name_stays(platform: MemoryPlatform, put: Make, uploads: Path) -> None:
    number, twice = put("abc/a.txt"), put("abc/b.txt")
    put("abc/b.txt")
    admin = platform.admin()
    admin.delete(f"{FILES}/{number}")
    admin.delete(f"{FILES}/{twice}")
    assert stored(uploads) == ["abc", "abc/b.txt"]


@pytest.mark.parametrize("location", ["top", "../outside", "gone/a.txt", None])
def test_a_strange_location_takes_nothing_else_along(
    platform: MemoryPlatform, make: Make, put: Make, tmp_path: Path, location: str | None
) -> None:
    put("abc/a.txt")
    (tmp_path / "outside").write_text("content")
    number = make(insert_row, files, {"type": "standard", "location": location})
    assert platform.admin().delete(f"{FILES}/{number}").status == 200
    assert stored(tmp_path) == ["outside", "uploads", "uploads/abc", "uploads/abc/a.txt"]


def test_a_challenge_takes_its_files_along(platform: MemoryPlatform, make: Make, put: Make, uploads: Path) -> None:
    number = make(a_challenge)
    solution = make(insert_row, solutions, {"challenge_id": number, "state": "hidden"})
    put("abc/a.txt", type="challenge", challenge_id=number)
    put("def/b.txt", type="solution", solution_id=solution)
    put("ghi/c.txt", type="challenge", challenge_id=make(a_challenge))
    assert platform.admin().delete(f"/api/v1/challenges/{number}").status == 200
    assert stored(uploads) == ["ghi", "ghi/c.txt"]


def test_a_disk_that_refuses_is_told_to_the_log(
    platform: MemoryPlatform, put: Make, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = put("abc/a.txt")
    put("abc/b.txt")

    def refuse(path: Path) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with capturedLogs() as said:
        assert platform.admin().delete(f"{FILES}/{number}").status == 200
    assert any("can't be removed" in str(event.get("log_format")) for event in said)
    assert "abc/a.txt" in stored(uploads)
    assert platform.run(lambda conn: conn.execute(select(files.c.location)).scalars().all()) == ["abc/b.txt"]
