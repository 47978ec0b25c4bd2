"""What may be the competition's logo, banner or icon: told by its first bytes, whatever it is called. Pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ctfd_twisted.files.rules import safe_name

#: Bytes of one picture; a form has room for three of them.
LARGEST_PICTURE: Final = 2 * 1024 * 1024
#: The settings that are pictures, by what people call them.
PICTURES: Final = {"ctf_logo": "logo", "ctf_banner": "banner", "ctf_small_icon": "small icon"}

#: What may stand before the root of an SVG. Scripts in one do not run: it is shown as an image, and saved when opened.
_SVG: Final = re.compile(
    rb"""(?:\xef\xbb\xbf)? \s*
    (?: <\?xml [^>]{0,200} \?> \s* )?
    (?: <!-- .{0,2000}? --> \s* | <!DOCTYPE\ svg [^>\[]{0,300} > \s* ){0,3}
    <svg [\s>]""",
    re.DOTALL | re.VERBOSE,
)
_SIGNATURES: Final = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "png"),
    (re.compile(rb"\xff\xd8\xff"), "jpg"),
    (re.compile(rb"GIF8[79]a"), "gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "webp"),
    (re.compile(rb"\x00\x00\x01\x00[\x01-\xff]"), "ico"),
    (_SVG, "svg"),
)


class Picture(NamedTuple):
    """A picture that may be kept: a safe name, which tells its kind, and its bytes."""

    name: str
    content: bytes


def picture_of(filename: str, content: bytes) -> Picture:
    """The picture that somebody sends as *filename*.

    Raises ``ValueError``, whose text goes on from "The logo", for what is too large or no picture that browsers show.
    """
    if len(content) > LARGEST_PICTURE:
        raise ValueError(f"may have at most {LARGEST_PICTURE // 2**20} MiB")
    kind = next((kind for signature, kind in _SIGNATURES if signature.match(content)), None)
    if kind is None:
        raise ValueError("has to be a PNG, JPEG, GIF, WebP, SVG or ICO file")
    stem = safe_name(filename).rpartition(".")[0] or "picture"
    return Picture(f"{stem}.{kind}", content)
