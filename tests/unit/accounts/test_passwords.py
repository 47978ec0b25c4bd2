"""Hashes made by CTFd are read, ours have its layout, and what is no hash fits nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctfd_twisted.accounts import passwords

VERSION_2 = "$bcrypt-sha256$v=2,t=2b,r=12$gm2w8KyYMxDyR99wW6K/b.$ID39f9ZWZuTPm98wP6MlyE/R1InyL5y"
VERSION_1 = "$bcrypt-sha256$2b,12$xP9jWCpszTodNycmkP1WoO$eMqnHuqXXeDeFfcbAkhVsoIIUtlw3Ga"


@pytest.mark.parametrize("stored", [VERSION_2, VERSION_1])
def test_the_contracts_vectors_verify(stored: str) -> None:
    assert passwords.verify("password", stored)
    assert not passwords.verify("Password", stored)


@pytest.mark.parametrize(
    "stored",
    [
        None,
        "",
        "password",
        "$2b$12$gm2w8KyYMxDyR99wW6K/b.ID39f9ZWZuTPm98wP6MlyE/R1InyL5y",
        VERSION_2.replace("r=12", "r=31"),
        VERSION_2.replace("r=12", "r=3"),
        VERSION_2.replace("r=12", "r=x"),
        VERSION_2[:-1],
        VERSION_2 + "\n",
        VERSION_2.replace("gm2w", "gm2é"),
        VERSION_1.replace("2b,12", "2b,٣"),
    ],
)
def test_what_is_no_hash_fits_nothing(stored: str | None) -> None:
    assert not passwords.verify("password", stored)


def test_a_new_hash_has_ctfds_layout_and_length() -> None:
    made = passwords.make_hash("secret", 4)
    assert len(made) == 82  # one less than CTFd's: the cost has one digit
    assert made.startswith("$bcrypt-sha256$v=2,t=2b,r=4$")
    assert len(passwords.make_hash("secret", 10)) == 83


@settings(max_examples=15, deadline=None)
@given(st.text(min_size=0, max_size=200))
def test_every_text_verifies_against_its_own_hash_only(text: str) -> None:
    made = passwords.make_hash(text, 4)
    assert passwords.verify(text, made)
    assert not passwords.verify(text + "x", made)


def test_a_lone_surrogate_and_a_nul_are_passwords_too() -> None:
    for text in ("\ud800", "a\x00b"):
        made = passwords.make_hash(text, 4)
        assert passwords.verify(text, made)
        assert not passwords.verify(text[:-1], made)


def test_a_decoy_costs_what_the_real_hash_costs() -> None:
    assert "r=12$" in passwords.decoy(VERSION_2, 10)
    assert "r=12$" in passwords.decoy(VERSION_1, 10)
    assert "r=10$" in passwords.decoy(None, 10)
    assert not passwords.verify("password", passwords.decoy(None, 4))
