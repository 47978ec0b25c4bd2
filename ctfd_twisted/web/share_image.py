"""The picture of a shared solve, 700 by 360 pixels: the same bytes for the same card. Pure, and slow: for a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ctfd_twisted.web.assets_store import STATIC

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

WIDTH: Final = 700
HEIGHT: Final = 360
#: What a logo may be, as Pillow calls it, and how many pixels it may have.
LOGO_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
MOST_PIXELS: Final = 4096 * 4096

#: The colours of the pages by day (css/10-tokens.css).
_PAPER: Final = "#f3f4f1"
_INK: Final = "#161b18"
_MUTED: Final = "#55605a"
_ACCENT: Final = "#2540b8"

_LEFT: Final = 56
_RIGHT: Final = WIDTH - 48
_LOGO: Final = (220, 56)
#: The pennant of the pages' own mark, on a grid of 18 by 25.
_PENNANT: Final = (((0, 0), (2.4, 0), (2.4, 25), (0, 25)), ((3.6, 1.5), (18, 7.5), (3.6, 13.5)))
#: No line has room for more characters.
_LONGEST: Final = 200
#: Shapes are drawn so many times larger, and made smaller for soft edges.
_FINER: Final = 4


class Card(msgspec.Struct, frozen=True):
    """What the picture says; *numbers* is the last line, and *logo* the bytes of a picture."""

    competition: str
    account: str
    challenge: str
    numbers: str
    logo: bytes | None = None


class _Line(NamedTuple):
    """One line of text: its baseline, its largest and smallest size in pixels, its weight and colour."""

    baseline: int
    largest: int
    smallest: int
    weight: int
    colour: str


_ACCOUNT: Final = _Line(178, 56, 30, 700, _INK)
_SOLVED: Final = _Line(222, 26, 26, 400, _MUTED)
_CHALLENGE: Final = _Line(272, 42, 26, 600, _ACCENT)
_NUMBERS: Final = _Line(326, 24, 18, 400, _MUTED)


def draw(card: Card) -> bytes:
    """The picture as PNG. A logo that can't be read is left out."""
    # Pillow takes 10 MB, which only nodes pay that draw.
    from PIL import Image, ImageDraw  # noqa: PLC0415

    picture = Image.new("RGB", (WIDTH, HEIGHT), _PAPER)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, 15, HEIGHT), fill=_ACCENT)
    logo = None if card.logo is None else _opened(card.logo)
    mark = _pennant() if logo is None else logo
    picture.paste(mark, (_LEFT, 32 + (_LOGO[1] - mark.height) // 2), mark)
    name = _Line(70, 30, 18, 600, _INK)
    _write(pen, card.competition, name, left=_LEFT + mark.width + 18)
    for text, line in (
        (card.account, _ACCOUNT),
        ("solved", _SOLVED),
        (card.challenge, _CHALLENGE),
        (card.numbers, _NUMBERS),
    ):
        _write(pen, text, line)
    written = BytesIO()
    picture.save(written, "PNG", compress_level=9)
    return written.getvalue()


def picture_size(content: bytes) -> tuple[str, int, int] | None:
    """Format (``PNG``), width and height of a picture, without reading its pixels; ``None`` for what is none."""
    from PIL import Image  # noqa: PLC0415

    try:
        with Image.open(BytesIO(content), formats=LOGO_FORMATS) as found:
            return str(found.format), found.width, found.height
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _opened(content: bytes) -> Image | None:
    from PIL import Image  # noqa: PLC0415

    size = picture_size(content)
    if size is None or size[1] * size[2] > MOST_PIXELS:
        return None
    try:
        with Image.open(BytesIO(content), formats=LOGO_FORMATS) as found:
            logo = found.convert("RGBA")
    except (OSError, ValueError, SyntaxError):
        return None
    logo.thumbnail(_LOGO, Image.Resampling.LANCZOS)
    return logo


def _pennant() -> Image:
    from PIL import Image, ImageDraw  # noqa: PLC0415

    height = 48
    width = height * 18 // 25
    large = Image.new("RGBA", (width * _FINER, height * _FINER))
    pen = ImageDraw.Draw(large)
    scale = height * _FINER / 25
    for shape in _PENNANT:
        pen.polygon([(x * scale, y * scale) for x, y in shape], fill=_ACCENT)
    return large.resize((width, height), Image.Resampling.LANCZOS)


def _write(pen: ImageDraw, text: str, line: _Line, left: int = _LEFT) -> None:
    """Write *text* as large as fits between *left* and the right edge; what does not fit at all is cut."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text[:_LONGEST]).split())
    room = _RIGHT - left
    size = line.largest
    fonts = _fonts(size, line.weight)
    while _length(text, fonts) > room and size > line.smallest:
        size -= 2
        fonts = _fonts(size, line.weight)
    if _length(text, fonts) > room:
        while text and _length(text + "…", fonts) > room:
            text = text[:-1]
        text = text.rstrip() + "…"
    x = float(left)
    for part, font in _runs(text, fonts):
        pen.text((x, line.baseline), part, font=font, fill=line.colour, anchor="ls")
        x += font.getlength(part)


def _length(text: str, fonts: Sequence[Any]) -> float:
    return sum((float(font.getlength(part)) for part, font in _runs(text, fonts)), 0.0)


def _runs(text: str, fonts: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """*text* in pieces, each with the first of *fonts* that has its characters, or else the first of all."""
    missing = [bytes(font.getmask("\uffff")) for font in fonts]
    run, chosen = "", fonts[0]
    for char in text:
        has = (font for font, none in zip(fonts, missing, strict=True) if bytes(font.getmask(char)) != none)
        font = next(has, fonts[0])
        if font is not chosen and run:
            yield run, chosen
            run = ""
        run, chosen = run + char, font
    if run:
        yield run, chosen


def _fonts(size: int, weight: int) -> list[Any]:
    """The pages' own type; where npm's files are missing, what Pillow brings."""
    from PIL import ImageFont  # noqa: PLC0415

    fonts: list[Any] = []
    for name in ("sans-latin", "sans-latin-ext"):
        file = STATIC / "vendor" / f"{name}.woff2"
        if file.exists():
            # One layout wherever it runs: what else there is differs by how Pillow was built.
            font = ImageFont.truetype(str(file), size, layout_engine=ImageFont.Layout.BASIC)
            font.set_variation_by_axes([weight])
            fonts.append(font)
    return fonts or [ImageFont.load_default(size)]
