"""Text of administrators and comments as HTML."""

from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.web.markdown import rendered, rendered_comment, rendered_html, sanitized

PLAIN = Competition({"ctf_name": "Harbour & Sons"})


def test_markdown_is_commonmark_with_three_extensions() -> None:
    html = rendered("**c** ~~s~~ http://a.example\n\n|a|\n|-|\n|1|\n", PLAIN)
    assert "<strong>c</strong>" in html
    assert "<del>s</del>" in html
    assert '<a href="http://a.example">' in html
    assert "<td>1</td>" in html
    assert rendered("c", PLAIN) == "<p>c</p>\n"


def test_nothing_at_all_renders_to_nothing() -> None:
    assert rendered(None, PLAIN) == ""


def test_raw_html_passes_unless_the_competition_sanitises() -> None:
    source = "<script>x()</script><b>b</b>"
    assert "<script>" in rendered(source, PLAIN)
    assert "<script>" not in rendered(source, Competition({"html_sanitization": "1"}))
    assert "<script>" not in rendered_html(source, Competition({"html_sanitization": "true"}))


def test_comments_are_sanitised_always() -> None:
    html = rendered_comment("**b** <script>x()</script>", PLAIN)
    assert "script" not in html
    assert "<strong>b</strong>" in html


@pytest.mark.parametrize("source", ["{ctf_name}", "{{ctf_name}}", "{{ ctf_name }}"])
def test_placeholders_stand_in_single_or_double_braces(source: str) -> None:
    assert rendered_html(source, PLAIN) == "Harbour &amp; Sons"


def test_a_placeholder_can_bring_no_markup_into_a_page() -> None:
    hostile = Competition({"ctf_name": "<img src=x onerror=alert(1)>"})
    assert "<img" not in rendered_html("{ctf_name}", hostile)


def test_times_are_iso_with_z_and_unset_ones_empty() -> None:
    start = int(datetime(2026, 11, 20, 12, 0, tzinfo=UTC).timestamp())
    competition = Competition({"start": str(start)})
    assert rendered_html("{ctf_start}|{ctf_end}|{ctf_freeze}", competition) == "2026-11-20T12:00:00Z||"


def test_unknown_placeholders_stay_as_they_are() -> None:
    assert rendered_html("{other} {{ other }} {", PLAIN) == "{other} {{ other }} {"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b onclick=x()>b</b>", "<b>b</b>"),
        ("<script>alert(1)</script>t", "t"),
        ("<style>p{}</style>t", "t"),
        ("<object data=x><p>t</p></object>", "<p>t</p>"),
        ('<a href="javascript:x()">t</a>', '<a rel="noopener noreferrer nofollow">t</a>'),
        ('<a href="/p" rel="me">t</a>', '<a href="/p" rel="noopener noreferrer nofollow">t</a>'),
        ('<a href="//h/p">t</a>', '<a href="//h/p" rel="noopener noreferrer nofollow">t</a>'),
        ('<a href="tel:1">t</a>', '<a href="tel:1" rel="noopener noreferrer nofollow">t</a>'),
        ('<img src="data:image/png;base64,AAAA">', '<img src="data:image/png;base64,AAAA">'),
        ('<iframe src="data:text/html,x"></iframe>', "<iframe></iframe>"),
        ('<iframe src=" da\tta:text/html,x"></iframe>', "<iframe></iframe>"),
        ('<iframe srcdoc="x" src="https://v.example/1" allowfullscreen></iframe>',
         '<iframe src="https://v.example/1" allowfullscreen=""></iframe>'),
        ('<form action="javascript:x()" method="post"><input name="q"></form>',
         '<form method="post"><input name="q"></form>'),
        ('<p data-a="1" aria-label="l" class="c">t</p>', '<p data-a="1" aria-label="l" class="c">t</p>'),
        ("<!-- c -->t", "<!-- c -->t"),
        ('<svg><a href="javascript:x()">t</a></svg>', ""),
        ("<meta http-equiv=refresh content=0>", '<meta content="0">'),
    ],
)  # fmt: skip
def test_the_allow_list(source: str, expected: str) -> None:
    assert sanitized(source) == expected


_TAGS = st.sampled_from(
    [
        "<script>",
        "<svg onload=x()>",
        "<img src=x onerror=x()>",
        "</title>",
        "<a href='javascript:x'>",
        "<math>",
        "<style>",
        "<!--",
        "-->",
        "text",
        "&lt;",
        "<noscript>",
    ]
)


class _Seen(HTMLParser):
    """What a browser would see as elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


@given(st.lists(_TAGS, max_size=12).map("".join))
def test_sanitised_html_never_holds_what_runs(source: str) -> None:
    html = sanitized(source)
    for tag, attributes in _Seen(html).elements:
        assert tag not in {"script", "style", "svg", "math", "object"}
        assert not any(name.startswith("on") or name == "srcdoc" for name in attributes)
        assert not (attributes.get("href") or "").startswith("javascript:")
    assert sanitized(html) == html
