"""Files that pages load."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctfd_twisted.challenges.registry import challenge_types, flag_types
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.web.assets_store import LARGEST, load_assets


@pytest.fixture(scope="module")
def platform() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform().setup()
    yield platform
    platform.close()


def test_a_file_is_cached_and_asked_for_again_with_its_tag(platform: MemoryPlatform) -> None:
    client = platform.client()
    first = client.get("/themes/core/static/js/theme.js")
    assert first.status == 200
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cache-control"] == "public, max-age=3600"
    again = client.get("/themes/core/static/js/theme.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_text_is_compressed_for_those_who_take_it(platform: MemoryPlatform) -> None:
    client = platform.client()
    plain = client.get("/themes/core/static/site.css", headers={"Accept-Encoding": "gzip;q=0"})
    stored = load_assets().get("site.css")
    assert stored is not None
    assert stored.zipped is not None
    assert plain.body == stored.body == gzip.decompress(stored.zipped)


def test_another_themes_name_falls_back_to_the_one_there_is(platform: MemoryPlatform) -> None:
    assert platform.client().get("/themes/hacker/static/js/theme.js").status == 200


@pytest.mark.parametrize(
    "path", ["../pages.py", "..%2fpages.py", "js/../../pages.py", ".gitignore", "js", "", "%00", "js/theme.js/"]
)
def test_nothing_else_is_served(platform: MemoryPlatform, path: str) -> None:
    assert platform.client().get(f"/themes/core/static/{path}").status == 404


def test_theme_files_are_there_before_the_setup() -> None:
    platform = MemoryPlatform()
    assert platform.client().get("/themes/core/static/js/app.js").status == 200
    assert platform.client().get("/robots.txt").status == 200
    platform.close()


def test_the_files_that_kinds_name_exist(platform: MemoryPlatform) -> None:
    client = platform.client()
    kinds: list[Any] = [*challenge_types().values(), *flag_types().values()]
    paths = {path for kind in kinds for path in (*kind.templates.values(), *getattr(kind, "scripts", {}).values())}
    assert len(paths) > 8
    assert {path: client.get(path).status for path in paths} == dict.fromkeys(paths, 200)


def test_robots_are_kept_out_of_the_admin_pages_unless_told_otherwise(platform: MemoryPlatform) -> None:
    client = platform.client()
    assert client.get("/robots.txt").text == "User-agent: *\nDisallow: /admin\n"
    platform.configure(robots_txt="User-agent: *\nDisallow: /\n")
    assert client.get("/robots.txt").text == "User-agent: *\nDisallow: /\n"
    assert client.get("/robots.txt").headers["content-type"].startswith("text/plain")


def test_the_version_changes_with_any_file_and_is_no_nonce(tmp_path: Path) -> None:
    (tmp_path / "css").mkdir()
    (tmp_path / "css/a.css").write_text("a{}")
    before = load_assets(tmp_path).version
    (tmp_path / "css/b.css").write_text("b{}")
    after = load_assets(tmp_path)
    assert before != after.version
    assert len(before) == 8
    sheet = after.get("site.css")
    assert sheet is not None
    assert sheet.body == b"a{}\nb{}"
    assert not after.complete


def test_more_than_memory_should_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(LARGEST + 1))
    with pytest.raises(ValueError, match="more than"):
        load_assets(tmp_path)
