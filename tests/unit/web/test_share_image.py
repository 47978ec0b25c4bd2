"""The picture of a shared solve."""

from io import BytesIO

import pytest
from msgspec.structs import replace
from PIL import Image

from ctfd_twisted.web.share_image import HEIGHT, WIDTH, Card, draw, picture_size

CARD = Card("Test CTF", "ada", "Warmup", "150 points · 1 solve")
LONG = "W" * 70_000


def opened(card: Card) -> Image.Image:
    return Image.open(BytesIO(draw(card)))


def encoded(size: tuple[int, int], format: str = "PNG") -> bytes:
    written = BytesIO()
    Image.new("RGB", size, "#ff0000").save(written, format)
    return written.getvalue()


def test_the_same_card_is_the_same_bytes() -> None:
    assert draw(CARD) == draw(replace(CARD))


@pytest.mark.parametrize("field", ["competition", "account", "challenge", "numbers"])
def test_every_line_is_drawn(field: str) -> None:
    assert draw(replace(CARD, **{field: "something else"})) != draw(CARD)


@pytest.mark.parametrize("text", ["", LONG, "Zażółć gęślą jaźń", "команда 日本 🚩", "two\nlines\x00\u202e"])
def test_any_text_stays_within_the_picture(text: str) -> None:
    picture = opened(Card(text, text, text, text, encoded((4000, 10))))
    assert picture.size == (WIDTH, HEIGHT)
    paper = picture.getpixel((WIDTH - 1, 0))
    assert all(picture.getpixel((x, y)) == paper for x in range(WIDTH - 20, WIDTH) for y in range(HEIGHT))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_logo_is_made_as_small_as_its_place(format: str) -> None:
    picture = opened(replace(CARD, logo=encoded((1000, 1000), format)))
    strip = picture.crop((0, 60, WIDTH, 61)).tobytes()
    red = [x for x in range(WIDTH) if strip[3 * x] > 240 and strip[3 * x + 2] < 40]
    assert (min(red), max(red)) == (56, 56 + 55)


@pytest.mark.parametrize("logo", [b"", b"<svg/>", encoded((20, 20))[:60], encoded((5000, 5000))])
def test_what_can_not_be_a_logo_is_left_out(logo: bytes) -> None:
    assert draw(replace(CARD, logo=logo)) == draw(CARD)


def test_the_size_of_a_picture_is_read_without_its_pixels() -> None:
    assert picture_size(encoded((30, 20))) == ("PNG", 30, 20)
    assert picture_size(encoded((30, 20))[:100]) == ("PNG", 30, 20)
    assert picture_size(b"\x89PNG") is None
