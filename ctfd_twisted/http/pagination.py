"""Pages of a list, numbered from 1."""

from __future__ import annotations

from typing import Final, TypedDict

import msgspec


class Pagination(TypedDict):
    """Where a page lies in its list; ``next`` and ``prev`` are null at the ends."""

    page: int
    next: int | None
    prev: int | None
    pages: int
    per_page: int
    total: int


class Paged(TypedDict):
    """The ``meta`` of a list that is shown in pages."""

    pagination: Pagination


class Counted(TypedDict):
    """The ``meta`` of a list that is counted."""

    count: int


#: A page that no list has, whose rows can still be counted in 64 bits.
_BEYOND: Final = 10**15


class AskedPage(msgspec.Struct, frozen=True):
    """The query of a list in pages of one size; what is no number from 1 on is the first."""

    page: str | None = None


class AskedPages(AskedPage, frozen=True):
    """The query of a list in pages whose size, up to the list's own bound, may be chosen."""

    per_page: str | None = None


class Page(msgspec.Struct, frozen=True):
    """Which part of a list is asked for."""

    number: int
    size: int

    @property
    def offset(self) -> int:
        """How many rows come before it."""
        return (self.number - 1) * self.size

    def meta(self, total: int) -> Paged:
        """The ``meta`` of the answer for a list of *total* rows."""
        pages = -(-total // self.size)
        return {
            "pagination": {
                "page": self.number,
                "next": self.number + 1 if self.number < pages else None,
                "prev": self.number - 1 if self.number > 1 else None,
                "pages": pages,
                "per_page": self.size,
                "total": total,
            }
        }


def asked_page(page: str | None, per_page: str | None = None, *, size: int, most: int | None = None) -> Page:
    """The page that the query parameters *page* and *per_page* ask for.

    What is no page counts as the first. *per_page* counts only where *most* says how large a page may be.
    """
    if most is not None:
        size = min(_number(per_page), most) or size
    return Page(_number(page) or 1, size)


def _number(text: str | None) -> int:
    """The number that *text* is, or one that is beyond every list; 0 for what is none."""
    if not (text and text.isascii() and text.isdigit()):
        return 0
    digits = text.lstrip("0") or "0"
    return min(int(digits), _BEYOND) if len(digits) <= len(str(_BEYOND)) else _BEYOND
