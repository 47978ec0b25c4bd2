"""Who holds the hill, from bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koth_agent.identity import OWNER_CHARACTERS, OwnerUnknown, owner_in, owner_printed_by
from koth_agent.run import Run


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        (b"alice", "alice"),
        (b"  alice\r\n", "alice"),
        (b"\n\tteam rocket \n\n", "team rocket"),
        (b"", ""),
        (b" \n", ""),
        ("Zoë ✨\n".encode(), "Zoë ✨"),
        (b"caf\xe9", "caf�"),
        (b"half \xe2\x9c", "half �"),
    ],
)
def test_an_owner_is_the_text_without_the_white_space_around_it(text: bytes, owner: str) -> None:
    assert owner_in(text) == owner


def test_an_owner_is_cut_by_characters_not_bytes() -> None:
    assert owner_in(b"  " + "é".encode() * 5000) == "é" * 4096


@given(st.binary())
def test_any_bytes_name_an_owner_that_can_be_sent(text: bytes) -> None:
    owner = owner_in(text)
    assert len(owner) <= OWNER_CHARACTERS
    assert owner == owner.lstrip()
    owner.encode("utf-8")


def test_a_command_s_owner_is_its_standard_output() -> None:
    assert owner_printed_by(Run(b" bob\n", b"", 0)) == "bob"


@pytest.mark.parametrize("run", [Run(b"bob", b"", 1), Run(b"bob", b"warning", 0), Run(b"bob", b"", 124)])
def test_a_command_that_failed_names_nobody(run: Run) -> None:
    with pytest.raises(OwnerUnknown, match=f"exit status {run.status}"):
        owner_printed_by(run)


def test_the_reason_is_one_short_line() -> None:
    with pytest.raises(OwnerUnknown) as caught:
        owner_printed_by(Run(b"", b"no\nsuch\tfile " * 1000, 1))
    assert str(caught.value).startswith("owner-cmd failed: exit status 1, standard error 'no\\nsuch\\tfile no")
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
