"""A letter as bytes: whole, safe on its way, and without a header that somebody smuggled in."""

from __future__ import annotations

from datetime import UTC, datetime
from email import message_from_bytes, policy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.mail.message import BadAddressError, ascii_address, compose
from ctfd_twisted.mail.rules import Letter

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


def composed(letter: Letter, name: str = "My CTF", sender: str = "ctf@example.org") -> bytes:
    return compose(letter, name, sender, NOW)


def read(raw: bytes) -> tuple[dict[str, str], str]:
    message = message_from_bytes(raw, policy=policy.default)
    return {key.lower(): str(value) for key, value in message.items()}, message.get_content()


def test_a_letter_arrives_as_it_was_written() -> None:
    headers, body = read(composed(Letter("a@b.co", "Grüße", "Zeile 1\n.dot\n..\nünïcode " + "x" * 200 + "\n")))
    assert (headers["from"], headers["to"], headers["subject"]) == ("My CTF <ctf@example.org>", "a@b.co", "Grüße")
    assert headers["date"] == "Sat, 14 Mar 2026 15:09:26 +0000"
    assert headers["message-id"].endswith("@example.org>")
    assert headers["auto-submitted"] == "auto-generated"
    assert body == "Zeile 1\n.dot\n..\nünïcode " + "x" * 200 + "\n"


def test_no_header_is_smuggled_in() -> None:
    headers, _ = read(composed(Letter("a@b.co", "x\nBcc: evil@example.org", "x"), name='A\r\nBcc: "evil" <e@x.co>'))
    assert set(headers) == {
        "from", "to", "subject", "date", "message-id", "auto-submitted", "content-type", "content-transfer-encoding",
        "mime-version",
    }  # fmt: skip


@pytest.mark.parametrize(
    "address",
    [
        "",
        "a",
        "a@",
        "@b",
        "a b@c.de",
        "ä@b.co",
        "a@b.co\nRCPT TO:<x@y.co>",
        "a@\ud800.co",
        "a@b@\u2028.c",
        "<a@b.co>",
        "(a)@b.co",
        "a@b@c.co",
        "a@b..co",
    ],
)
def test_no_mail_goes_to_what_is_no_address(address: str) -> None:
    with pytest.raises(BadAddressError):
        composed(Letter(address, "s", "b"))


def test_an_international_domain_is_written_in_ascii() -> None:
    assert ascii_address("a@münchen.example") == "a@xn--mnchen-3ya.example"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n."), max_size=300))
def test_every_text_arrives_and_no_line_begins_with_a_dot(text: str) -> None:
    raw = composed(Letter("a@b.co", "s", text))
    assert raw.isascii()
    assert b"\n." not in raw
    assert max(map(len, raw.split(b"\n"))) <= 998
    assert read(raw)[1].rstrip("\n") == text.rstrip("\n")
