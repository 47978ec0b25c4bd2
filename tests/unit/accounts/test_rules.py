"""Names, addresses, domains and websites: what is let in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.accounts import rules
from ctfd_twisted.accounts.countries import COUNTRIES, LANGUAGES


@pytest.mark.parametrize("email", ["a@b.co", "a+b@c.d.e", "ü@ä.ö", "a@b.c" + "d" * 315])
def test_an_address_is_recognised(email: str) -> None:
    assert rules.looks_like_email(email)


@pytest.mark.parametrize(
    "email", ["", "a", "a@b", "@b.co", "a@.co", "a@b.", "a b@c.de", "a@b@c.de", "a@b.co\n", "a@b.c" + "d" * 316]
)
def test_what_is_no_address_is_not(email: str) -> None:
    assert not rules.looks_like_email(email)


def test_domains_match_whole_and_below_a_star() -> None:
    listing = " example.com , *.School.edu,, "
    assert rules.domain_listed("a@example.com", listing)
    assert rules.domain_listed("a@EXAMPLE.com", listing)
    assert rules.domain_listed("a@cs.school.edu", listing)
    assert rules.domain_listed("a@a.b.school.edu", listing)
    for other in (
        "a@school.edu",
        "a@badexample.com",
        "a@sub.example.com",
        "a@badschool.edu",
        "a@.school.edu",
    ):
        assert not rules.domain_listed(other, listing), other
    assert not rules.domain_listed("a@", listing)


def test_each_listing_that_is_against_an_address_counts() -> None:
    assert rules.domain_refusals("a@b.co", "", "") == 0
    assert rules.domain_refusals("a@b.co", "c.co", "") == 1
    assert rules.domain_refusals("a@b.co", "c.co", "b.co") == 2
    assert rules.domain_refusals("a@b.co", "b.co", "c.co") == 0


@pytest.mark.parametrize(
    "website",
    [
        "http://a.co",
        "https://a.co:8080/p?q#f",
        "HTTPS://A.CO",
        "http://localhost:8000",
        "http://127.0.0.1/",
        "http://[::1]:80/",
        "https://пример.рф",
    ],
)
def test_websites_with_a_host_are_let_in(website: str) -> None:
    assert rules.is_website(website)
    assert rules.website_faults(website) == []


@pytest.mark.parametrize(
    "website",
    [
        "a.co",
        "ftp://a.co",
        "http://",
        "http:///p",
        "http://host",
        "http://a..co",
        "http://a.1",
        "javascript:alert(1)//http://a.co",
        'http://a.co/"><script>',
        "http://a.co/ b",
        "http://a.co:port",
        "http://[::1",
        "http://-a.co",
        "http://a.co/\u202e",
        "http://x@",
    ],
)
def test_other_websites_are_not(website: str) -> None:
    assert rules.website_faults(website) == [rules.BAD_WEBSITE]


def test_nothing_may_be_given_for_website_country_and_language() -> None:
    for nothing in (None, ""):
        assert rules.website_faults(nothing) == rules.country_faults(nothing) == rules.language_faults(nothing) == []


def test_country_codes_are_upper_case_and_known() -> None:
    assert len(COUNTRIES) == 254
    assert all(len(code) == 2 and code.isupper() and name for code, name in COUNTRIES.items())
    assert list(COUNTRIES) == sorted(COUNTRIES)
    # Unicode's own codes are among them; places without inhabitants, and unions of states, are not.
    assert {"AC", "DG", "EA", "EZ", "IC", "TA", "XK"} <= set(COUNTRIES)
    assert not {"BV", "HM", "EU", "UN"} & set(COUNTRIES)
    assert rules.country_faults("US") == []
    assert rules.country_faults("us") == rules.country_faults("QQ") == ["Invalid Country"]


def test_languages_are_known() -> None:
    assert len(LANGUAGES) == len(set(LANGUAGES)) == 28
    assert rules.language_faults("pt_BR") == []
    assert rules.language_faults("pt") == ["Invalid Language"]


def test_an_empty_address_breaks_both_rules() -> None:
    assert rules.email_faults("") == [rules.BAD_EMAIL, rules.EMPTY_EMAIL]
    assert rules.email_faults("a@b.co") == []
    assert rules.email_faults("a" * 125 + "@b.co") == [rules.EMPTY_EMAIL]


@given(st.text(max_size=400))
def test_no_text_upsets_the_rules(text: str) -> None:
    assert rules.looks_like_email(text) in {True, False}
    assert rules.is_website(text) in {True, False}
    assert rules.domain_listed(text, text) in {True, False}
