"""The nonce on the competition's own code."""

import pytest

from ctfd_twisted.web.theme_code import with_nonce


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<script>x()</script>", '<script nonce="N">x()</script>'),
        ('<SCRIPT src="a.js"></SCRIPT>', '<SCRIPT nonce="N" src="a.js"></SCRIPT>'),
        ('<style id="theme-color">a{}</style>', '<style nonce="N" id="theme-color">a{}</style>'),
        ('<link rel="stylesheet" href="x.css"/>', '<link nonce="N" rel="stylesheet" href="x.css"/>'),
        ("<p>no code</p>\r\n<style>a{}</style>", '<p>no code</p>\r\n<style nonce="N">a{}</style>'),
        ("é\n\u2028<script>1</script>", 'é\n\u2028<script nonce="N">1</script>'),
        ('<script>d.write("<script>")</script>', '<script nonce="N">d.write("<script>")</script>'),
        ("<!-- <script>x</script> -->", "<!-- <script>x</script> -->"),
        ('<p title="<script>">t</p>', '<p title="<script>">t</p>'),
        ("", ""),
    ],
)
def test_the_nonce_stands_on_elements_only(html: str, expected: str) -> None:
    assert with_nonce(html, "N") == expected


def test_the_nonce_comes_before_one_that_the_author_wrote() -> None:
    assert with_nonce('<script nonce="old">x</script>', "N") == '<script nonce="N" nonce="old">x</script>'
