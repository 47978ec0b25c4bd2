"""Pages drawn once around what changes with each answer: two nonces, and what stands in the middle. Pure."""

from __future__ import annotations

import re
import secrets
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from ctfd_twisted.http.zipped import deflated, stored, zipped
from ctfd_twisted.web.theme_code import nonce_attribute, pieces_of

#: What is shorter is not worth compressing.
_WORTH: Final = 100
#: Where the script ends that says who is asking.
_WHO_ENDS: Final = "</script>"


class Marks(NamedTuple):
    """What stands in a drawn page for what is filled in; nobody can guess them, so nobody can write them."""

    policy: str
    form: str
    middle: str


def new_marks() -> Marks:
    """Marks of the length of what they stand for."""
    return Marks(secrets.token_urlsafe(18), secrets.token_hex(32), f"<!--{secrets.token_hex(16)}-->")


class Middle(Protocol):
    """What a frame stands around."""

    @property
    def body(self) -> bytes:
        """As it is."""

    @property
    def pieces(self) -> bytes:
        """The same as pieces of gzip."""


class Html:
    """A middle that was drawn as a whole."""

    def __init__(self, html: str) -> None:
        self.body = html.encode("utf-8", "replace")

    @cached_property
    def pieces(self) -> bytes:
        """Compressed."""
        return deflated(self.body)


class NoncedHtml:
    """Administrators' HTML, whose scripts and styles have the nonce of the answer that it stands in."""

    def __init__(self, html: str) -> None:
        self.texts = [text.encode("utf-8", "replace") for text in pieces_of(html)]

    @property
    def weight(self) -> int:
        """What it takes in memory, in bytes, about."""
        return 2 * sum(map(len, self.texts)) + 100 * len(self.texts)

    def under(self, policy: str) -> Middle:
        """The middle of an answer with that nonce."""
        return _Nonced(self, nonce_attribute(policy).encode())

    @cached_property
    def pieces(self) -> list[bytes]:
        """What stands between the nonces, compressed."""
        return [deflated(text) for text in self.texts]


class _Nonced(NamedTuple):
    """``NoncedHtml`` with one nonce."""

    html: NoncedHtml
    nonce: bytes

    @property
    def body(self) -> bytes:
        """As it is."""
        return self.nonce.join(self.html.texts)

    @property
    def pieces(self) -> bytes:
        """Compressed, but for the nonce."""
        return stored(self.nonce).join(self.html.pieces)


class Frame:
    """A page as some caller gets it, but for what is filled in.

    Nonces, and what stands before them about the caller, are sent as they are in compressed pages too: what somebody
    can make a page repeat never stands in the same piece with what they may not know, so its length tells nothing.
    """

    def __init__(self, html: str, marks: Marks) -> None:
        """Cut *html* at the *marks* in it."""
        self._marks = marks
        head, end, rest = html.partition(_WHO_ENDS)
        about = _cut(head + end, marks)
        parts = [*about, *_cut(rest, marks)]
        #: So many of them are sent as they are.
        self._about = len(about) if end else 0
        self._texts = [part.encode("utf-8", "replace") for part in parts]
        self._places = [(place, part) for place, part in enumerate(parts) if part in marks]

    @property
    def weight(self) -> int:
        """What it takes in memory, in bytes, about."""
        return 2 * sum(map(len, self._texts)) + 100 * len(self._texts)

    def body(self, policy: str, form: str, middle: Middle | None) -> bytes:
        """The page with both nonces, and *middle* where there is one."""
        texts = self._texts.copy()
        fill = {self._marks.policy: policy.encode(), self._marks.form: form.encode()}
        if middle is not None:
            fill[self._marks.middle] = middle.body
        for place, mark in self._places:
            texts[place] = fill[mark]
        return b"".join(texts)

    def zipped(self, policy: str, form: str, middle: Middle | None) -> bytes:
        """The same, compressed."""
        pieces = self._pieces.copy()
        fill = {self._marks.policy: stored(policy.encode()), self._marks.form: stored(form.encode())}
        if middle is not None:
            fill[self._marks.middle] = middle.pieces
        for place, mark in self._places:
            pieces[place] = fill[mark]
        return b"".join(zipped(pieces, self.body(policy, form, middle)))

    @cached_property
    def _pieces(self) -> list[bytes]:
        return [
            stored(text) if place < self._about or len(text) < _WORTH else deflated(text)
            for place, text in enumerate(self._texts)
        ]


def _cut(html: str, marks: Marks) -> list[str]:
    """*html* in texts and the marks between them."""
    return re.split(f"({'|'.join(map(re.escape, marks))})", html)
