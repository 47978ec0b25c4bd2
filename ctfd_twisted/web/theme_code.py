"""The competition's own HTML, with the response's nonce on what the content security policy must let through. Pure."""

from __future__ import annotations

from functools import lru_cache
from html.parser import HTMLParser
from itertools import pairwise
from typing import Final

_CARRIERS: Final = frozenset({"script", "style", "link"})


class _Openings(HTMLParser):
    """Collects where in the text a nonce belongs: right after the name of an opening tag, before other attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0]
        for line in text.split("\n"):  # the parser counts nothing else as the end of a line
            self._lines.append(self._lines[-1] + len(line) + 1)
        self.places: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's signature
        if tag in _CARRIERS:
            line, column = self.getpos()
            self.places.append(self._lines[line - 1] + column + 1 + len(tag))


@lru_cache(maxsize=64)
def pieces_of(text: str) -> tuple[str, ...]:
    """*text* cut where a nonce belongs."""
    parser = _Openings(text)
    parser.feed(text)
    parser.close()
    bounds = [0, *parser.places, len(text)]
    return tuple(text[begin:end] for begin, end in pairwise(bounds))


def with_nonce(html: str, nonce: str) -> str:
    """*html* with ``nonce="…"`` on every script, style and link element that the parser sees as one.

    Text inside a script or a comment that looks like a tag is left alone. The first ``nonce`` of an element counts in
    browsers, so one that the author wrote does not matter.
    """
    return nonce_attribute(nonce).join(pieces_of(html)) if html else ""


def nonce_attribute(nonce: str) -> str:
    """What stands between two pieces."""
    return f' nonce="{nonce}"'
