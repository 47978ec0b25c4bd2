"""Pictures that come with the setup."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ctfd_twisted.testing import Client, MemoryPlatform, Reply

LOGO = b"\x89PNG\r\n\x1a\nlogo"
BANNER = b"GIF89abanner"
ICON = b"\x00\x00\x01\x00\x01\x00icon"
FORM = {
    "ctf_name": "Winter CTF",
    "name": "root",
    "email": "root@example.org",
    "password": "hunter2",
    "user_mode": "users",
}
Files = dict[str, tuple[str, bytes]]


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[MemoryPlatform]:
    """A platform that nobody has set up, with a folder for files."""
    platform = MemoryPlatform(uploads=tmp_path / "uploads")
    yield platform
    platform.close()


def set_up(client: Client, files: Files, **fields: str) -> Reply:
    """Send the setup's form as browsers do, with *files* by their fields."""
    parts = [
        b'Content-Disposition: form-data; name="%b"\r\n\r\n%b' % (name.encode(), value.encode())
        for name, value in {"nonce": client.nonce, **FORM, **fields}.items()
    ]
    parts += [
        b'Content-Disposition: form-data; name="%b"; filename="%b"\r\n\r\n%b' % (name.encode(), sent.encode(), content)
        for name, (sent, content) in files.items()
    ]
    body = b"".join(b"--cut\r\n%b\r\n" % part for part in parts) + b"--cut--\r\n"
    return client.request("POST", "/setup", data=body, content_type="multipart/form-data; boundary=cut")


def stored(platform: MemoryPlatform) -> dict[str, str | None]:
    """The settings by their keys."""
    return {row["key"]: row["value"] for row in platform.admin("root").get("/api/v1/configs").data}


def test_pictures_are_kept_and_shown(platform: MemoryPlatform) -> None:
    client = platform.client()
    files = {"ctf_logo": ("Our Logo.php", LOGO), "ctf_banner": ("b.gif", BANNER), "ctf_small_icon": ("i.ico", ICON)}
    assert set_up(client, files).location == "/"
    settings, visitor = stored(platform), platform.client()
    for key, content in (("ctf_logo", LOGO), ("ctf_banner", BANNER), ("ctf_small_icon", ICON)):
        assert visitor.get(f"/files/{settings[key]}").body == content
    assert str(settings["ctf_logo"]).endswith("/Our_Logo.png")
    page = visitor.get("/").text
    assert f'<img src="files/{settings["ctf_banner"]}" alt="">' in page
    assert f'src="/files/{settings["ctf_logo"]}"' in page
    assert f'href="/files/{settings["ctf_small_icon"]}"' in page
    listed = platform.admin("root").get("/api/v1/files").data
    assert {file["location"] for file in listed} == {settings[key] for key in files}
    assert {file["type"] for file in listed} == {"standard"}


def test_without_a_banner_the_logo_stands_on_the_first_page(platform: MemoryPlatform) -> None:
    set_up(platform.client(), {"ctf_logo": ("logo.png", LOGO)})
    settings = stored(platform)
    assert "ctf_banner" not in settings
    assert f'<img src="files/{settings["ctf_logo"]}" alt="">' in platform.client().get("/").text


def test_where_no_file_was_chosen_none_is_kept(platform: MemoryPlatform) -> None:
    assert set_up(platform.client(), {"ctf_logo": ("", b""), "ctf_banner": ("", b"")}).location == "/"
    assert not {"ctf_logo", "ctf_banner", "ctf_small_icon"} & stored(platform).keys()
    assert "files/" not in platform.client().get("/").text


def test_what_is_no_picture_is_told_with_all_else_that_is_wrong(platform: MemoryPlatform, tmp_path: Path) -> None:
    wrong = {"ctf_logo": ("logo.png", b"<html>"), "ctf_banner": ("b.png", LOGO.ljust(3 * 2**20))}
    answer = set_up(platform.client(), wrong, email="nobody")
    assert answer.status == 200
    assert "The logo has to be a PNG, JPEG, GIF, WebP, SVG or ICO file" in answer.text
    assert "The banner may have at most 2 MiB" in answer.text
    assert "Please enter a valid email address" in answer.text
    assert 'value="root"' in answer.text
    assert not (tmp_path / "uploads").exists() or not list((tmp_path / "uploads").rglob("*.png"))
    assert platform.client().get("/").location == "/setup"


def test_a_setup_is_not_made_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "uploads").write_text("in the way")
    platform = MemoryPlatform(uploads=tmp_path / "uploads")
    answer = set_up(platform.client(), {"ctf_logo": ("logo.png", LOGO)})
    assert (answer.status, "The pictures could not be kept" in answer.text) == (200, True)
    assert platform.client().get("/").location == "/setup"
    platform.close()
