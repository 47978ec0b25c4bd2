"""Pages of lists."""

from __future__ import annotations

import pytest

from ctfd_twisted.http.pagination import Page, asked_page


@pytest.mark.parametrize(
    ("page", "per_page", "expected"),
    [
        (None, None, Page(1, 20)),
        ("3", "50", Page(3, 50)),
        ("0", "500", Page(1, 100)),
        ("x", "x", Page(1, 20)),
        ("-1", "-5", Page(1, 20)),
        ("²", "²", Page(1, 20)),
        ("0" * 30 + "3", "0" * 30 + "7", Page(3, 7)),
    ],
)
def test_what_is_no_page_is_the_first(page: str | None, per_page: str | None, expected: Page) -> None:
    assert asked_page(page, per_page, size=20, most=100) == expected


@pytest.mark.parametrize("number", ["9999999999", "9" * 20, "9" * 5000])
def test_a_page_past_every_end_is_no_other(number: str) -> None:
    page = asked_page(number, number, size=20, most=100)
    assert page.number > 1_000_000
    assert page.size == 100
    assert page.offset < 2**63


def test_a_fixed_size_ignores_per_page() -> None:
    assert asked_page("2", "10", size=50) == Page(2, 50)


@pytest.mark.parametrize(
    ("number", "total", "pages", "before", "after"),
    [(1, 0, 0, None, None), (1, 41, 3, None, 2), (2, 41, 3, 1, 3), (3, 41, 3, 2, None), (9, 41, 3, 8, None)],
)
def test_meta_counts_pages(number: int, total: int, pages: int, before: int | None, after: int | None) -> None:
    assert Page(number, 20).meta(total)["pagination"] == {
        "page": number,
        "next": after,
        "prev": before,
        "pages": pages,
        "per_page": 20,
        "total": total,
    }
