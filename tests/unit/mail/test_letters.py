"""Letters: the competition's texts, else ours; placeholders filled in."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.mail.letters import Kind, fill_in, write_letter

URL = "https://ctf.example/confirm/token"


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_has_a_text_without_open_places(kind: Kind) -> None:
    letter = write_letter(Competition({"ctf_name": "My CTF"}), kind, "a@b.co", URL, {"name": "ada", "password": "pw"})
    assert "My CTF" in letter.subject
    assert "My CTF" in letter.body
    assert URL in letter.body
    assert "{" not in letter.subject + letter.body
    assert letter.recipient == "a@b.co"


def test_the_competitions_own_text_is_taken() -> None:
    own = {
        "ctf_name": "2024",
        "verification_email_subject": "Hi from {ctf_name} {url}",
        "verification_email_body": "{{ url }} {{url}} {url} {ctf_description}{unknown} {{ unknown }} { url }",
    }
    letter = write_letter(Competition(own), "verification", "a@b.co", URL)
    assert letter.subject == "Hi from 2024 {url}"
    assert letter.body == f"{URL} {URL} {URL} {{unknown}} {{{{ unknown }}}} {{ url }}"


def test_what_is_filled_in_is_not_read_again() -> None:
    letter = write_letter(Competition({}), "user_creation", "a@b.co", URL, {"name": "{password}", "password": "{url}"})
    assert "Username: {password}\nPassword: {url}\n" in letter.body


@given(st.text())
def test_no_text_upsets_the_filling(text: str) -> None:
    assert fill_in(text, {}) == text
