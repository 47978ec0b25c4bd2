"""Forms, as browsers and as others send them."""

from __future__ import annotations

import pytest

from ctfd_twisted.errors import Invalid, TooLarge
from ctfd_twisted.http.forms import FIELDS, TEXT, form_files, read_form

URLENCODED = b"application/x-www-form-urlencoded; charset=utf-8"
MULTIPART = b'multipart/form-data; boundary="----edge"'


def part(head: str, body: bytes = b"x") -> bytes:
    """One part of a multipart body, with the line before it."""
    return b"------edge\r\nContent-Disposition: form-data" + head.encode() + b"\r\n\r\n" + body + b"\r\n"


END = b"------edge--\r\n"


def test_fields_are_text_and_the_last_of_a_name_counts() -> None:
    assert read_form(URLENCODED, b"a=1&b=&a=%C3%A4+2") == {"a": "ä 2", "b": ""}
    body = part('; name="a"', b"1") + part('; name="\u00fc"', b"\r\n") + part('; name="a"', "ä 2".encode()) + END
    assert read_form(MULTIPART, body) == {"a": "ä 2", "ü": "\r\n"}


def test_files_and_parts_without_a_name_are_no_fields() -> None:
    logo = part('; name="logo"; filename="logo.png"', b"\x89PNG" * (TEXT // 4) + b"more")
    assert read_form(MULTIPART, logo + part('; name="empty"; filename=""') + part("") + part('; name="a"') + END) == {
        "a": "x"
    }


def test_a_part_of_parts_is_a_text_like_any() -> None:
    head = '; name="nonce"\r\nContent-Type: multipart/mixed; boundary=inner'
    assert read_form(MULTIPART, part(head, b"--inner\r\n\r\nx\r\n--inner--") + END) == {
        "nonce": "--inner\r\n\r\nx\r\n--inner--"
    }


@pytest.mark.parametrize("kind", [b"", b"text/plain", b"application/json"])
def test_other_bodies_have_no_fields(kind: bytes) -> None:
    assert read_form(kind, b"a=1") == {}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (MULTIPART, b""),
        (MULTIPART, part('; name="a"')),
        (MULTIPART, b"junk" * 1000),
        (MULTIPART, part('; name="\udcff"'.encode("utf-8", "surrogateescape").decode("latin-1"))[:-3]),
        (b"multipart/form-data", b"x"),
        (MULTIPART, part('; name="a"') * (FIELDS + 1) + END),
        (URLENCODED, b"a&" * FIELDS + b"a"),
    ],
)
def test_a_broken_form_is_the_senders_mistake(kind: bytes, body: bytes) -> None:
    with pytest.raises(Invalid) as raised:
        read_form(kind, body)
    assert str(raised.value.errors[""]).startswith("[\"The form can't be read: ")


@pytest.mark.parametrize(
    ("kind", "body"), [(URLENCODED, b"a=" + b"x" * TEXT), (MULTIPART, part('; name="a"', b"x" * (TEXT + 1)) + END)]
)
def test_text_has_a_bound(kind: bytes, body: bytes) -> None:
    with pytest.raises(TooLarge):
        read_form(kind, body)


def test_files_have_a_name_and_bytes() -> None:
    parts = [
        'name="text"\r\n\r\nplain',
        'name="logo"; filename="first.png"\r\n\r\n1',
        'name="logo"; filename="a b.png"\r\nContent-Type: image/png\r\n\r\n\x00\r\n2',
        'name="none"; filename=""\r\n\r\n',
        'name="empty"; filename="e"\r\n\r\n',
    ]
    body = "".join(f"------edge\r\nContent-Disposition: form-data; {part}\r\n" for part in parts) + "------edge--\r\n"
    files = form_files(MULTIPART, body.encode())
    assert files == {"logo": ("a b.png", b"\x00\r\n2"), "empty": ("e", b"")}
    assert form_files(b"application/x-www-form-urlencoded", b"logo=1") == {}
    with pytest.raises(Invalid):
        form_files(MULTIPART, body.encode()[:-20])
