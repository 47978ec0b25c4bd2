"""By which way mail leaves: never by a mixture of two settings."""

from __future__ import annotations

from datetime import timedelta

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.mail.rules import Letter, Mailgun, Smtp, route_of, wait_after
from ctfd_twisted.settings import MailServer

SERVER = MailServer("server.example", 587, "server@example.org", "server user", "server password", tls=True)
OWN = {"mail_server": "own.example", "mail_port": "25"}
MAILGUN = {"mailgun_base_url": "https://api.mailgun.example/v3/x", "mailgun_api_key": "key"}


def test_without_any_setting_no_mail_is_possible() -> None:
    assert route_of(Competition({}), None) is None


def test_the_deployments_server_stands_behind() -> None:
    assert route_of(Competition({}), SERVER) == Smtp(
        "server.example", 587, "server@example.org", "server user", "server password", tls=True
    )
    sender = route_of(Competition({"mailfrom_addr": "ctf@example.org"}), SERVER)
    assert sender is not None
    assert sender.sender == "ctf@example.org"


def test_the_competitions_server_is_taken_whole() -> None:
    """The deployment's password must not be sent to a host that an administrator names."""
    assert route_of(Competition({**OWN, "mail_useauth": "true"}), SERVER) == Smtp(
        "own.example", 25, "noreply@examplectf.com", "", ""
    )
    full = {
        **OWN,
        "mail_useauth": "1",
        "mail_username": "u",
        "mail_password": "123",
        "mail_ssl": "true",
        "mail_tls": "0",
    }
    assert route_of(Competition(full), SERVER) == Smtp(
        "own.example", 25, "noreply@examplectf.com", "u", "123", ssl=True
    )


def test_without_authentication_the_names_are_ignored() -> None:
    settings = {**OWN, "mail_username": "u", "mail_password": "p", "mail_useauth": "false"}
    assert route_of(Competition(settings), None) == Smtp("own.example", 25, "noreply@examplectf.com")


def test_half_a_server_is_none_and_hides_the_deployments() -> None:
    assert route_of(Competition({"mail_server": "own.example"}), SERVER) is None
    assert route_of(Competition({"mail_port": "25"}), SERVER) is not None


def test_mailgun_comes_between_the_two() -> None:
    mailgun = Mailgun("https://api.mailgun.example/v3/x", "key", "noreply@examplectf.com")
    assert route_of(Competition(MAILGUN), SERVER) == mailgun
    assert isinstance(route_of(Competition({**MAILGUN, **OWN}), SERVER), Smtp)
    assert route_of(Competition({**MAILGUN, "mail_server": "own.example"}), SERVER) == mailgun
    assert isinstance(route_of(Competition({"mailgun_api_key": "key"}), SERVER), Smtp)


def test_the_waits_grow_and_end() -> None:
    waits = [wait_after(attempts) for attempts in range(1, 9)]
    assert waits[0] == timedelta(minutes=1)
    assert waits[-1] is None
    known = [wait for wait in waits if wait is not None]
    assert known == sorted(known)
    assert len(known) == 7


def test_nothing_secret_is_in_a_representation() -> None:
    for value in (Smtp("h", 1, "s", "u", "secret"), Mailgun("u", "secret", "s"), Letter("r", "s", "secret")):
        assert "secret" not in repr(value)
