"""What may be a logo, and what else is sent as one."""

import pytest

from ctfd_twisted.files.pictures import LARGEST_PICTURE, picture_of

PNG = b"\x89PNG\r\n\x1a\n...."


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0..JFIF", "jpg"),
        (b"GIF89a...", "gif"),
        (b"RIFF\x00\x01\x02\x03WEBPVP8 ", "webp"),
        (b"\x00\x00\x01\x00\x01\x00...", "ico"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "svg"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- made by hand -->\n<svg>", "svg"),
        (b"<?xml version='1.0'?><!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'x.dtd'>\n<svg\n>", "svg"),
    ],
)
def test_a_picture_is_what_its_first_bytes_say(content: bytes, kind: str) -> None:
    for sent in ("Our Logo.php", "Our Logo.PNG", "../../Our Logo.exe"):
        assert picture_of(sent, content) == (f"Our_Logo.{kind}", content)


@pytest.mark.parametrize("sent", ["", ".png", "logo", "日本.png", "..", "a/.."])
def test_a_picture_always_has_a_name(sent: str) -> None:
    assert picture_of(sent, PNG).name == "picture.png"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89PNG",
        b"GIF88a",
        b"RIFF....WAVE",
        b"<html><svg></svg></html>",
        b"<!DOCTYPE html><svg>",
        b"<!DOCTYPE svg [<!ENTITY a 'a'>]><svg>",
        b"<svgx>",
        b"<!--" + b"x" * 5000 + b"--><svg>",
        b"\x00\x00\x01\x00\x00",
    ],
)
def test_what_browsers_do_not_show_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="has to be a PNG, JPEG, GIF, WebP, SVG or ICO file"):
        picture_of("logo.png", content)


def test_a_picture_has_a_bound() -> None:
    assert picture_of("a.png", PNG.ljust(LARGEST_PICTURE)).name == "a.png"
    with pytest.raises(ValueError, match="at most 2 MiB"):
        picture_of("a.png", PNG.ljust(LARGEST_PICTURE + 1))
