"""CommonMark to HTML: the library's own answer, and no memory kept."""

from __future__ import annotations

import random
import resource
from pathlib import Path

import pytest
from cmarkgfm import cmark

from ctfd_twisted.web.commonmark import html_of

PIECES = (
    "# head", "text", "*em*", "**strong**", "~~gone~~", "`code`", "```py\ncode\n```", "    indented", "> quote",
    "- item", "1. one", "| a | b |\n|---|:-:|\n| 1 | 2 |", "https://example.org/a?b=c&d", "www.example.org",
    "[l](http://x 'T')",
    "![i](/a.png)", "<b>raw</b>", "<script>alert(1)</script>", "\\*", "&copy;", "---", "[ref]", "[ref]: http://ref",
    "{{ctf_name}}", "ü😀", "\0", "\r\n", "[^1]", "*", "_", "<", "|",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_the_library_makes(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same sources at every run
    for _ in range(50):
        parts = (chance.choice(PIECES) + chance.choice(("\n\n", "\n", " ", "")) for _ in range(chance.randint(0, 6)))
        source = "".join(parts)
        expected = cmark.markdown_to_html_with_extensions(
            source, options=cmark.Options.CMARK_OPT_UNSAFE, extensions=["table", "strikethrough", "autolink"]
        )
        assert html_of(source) == expected


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_nothing_is_kept() -> None:
    source = "A *line* of text.\n\n" * 10_000
    for _ in range(3):
        html_of(source)
    before = resident()
    for _ in range(40):
        html_of(source)
    assert resident() - before < 10 * len(source)
