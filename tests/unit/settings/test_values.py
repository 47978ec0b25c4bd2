"""Claims about single values: what is understood, and in which words the rest is refused."""

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy.engine import make_url

from ctfd_twisted.settings import values


@pytest.mark.parametrize(
    "text",
    [
        "tcp:8000",
        "tcp:0:interface=127.0.0.1",
        "tcp:port=8000:interface=\\:\\:1",
        "tcp:interface=0.0.0.0:port=80:backlog=100",
        "unix:/run/ctf/web.sock:mode=660",
        "systemd:domain=INET:name=web",
        "onion:80:hiddenServiceDir=/var/lib/ctf/onion",
    ],
)
def test_an_endpoint_is_kept_as_it_was_written(text: str) -> None:
    assert values.endpoint(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8000", "tcp:, ssl:, unix:"),
        ("", "tcp:, ssl:, unix:"),
        ("foo:1", "tcp:, ssl:, unix:"),
        ("unix:", "tcp:, ssl:, unix:"),
        ("onion:", "tcp:, ssl:, unix:"),
        ("tcp", "a port from 0 to 65535"),
        ("tcp:http", "a port from 0 to 65535"),
        ("tcp:65536", "a port from 0 to 65535"),
        ("tcp:port=-1", "a port from 0 to 65535"),
        ("tcp:80:interface=localhost", "an IP address as the interface"),
        ("tcp:80:interfaces=::1", "serverFromString"),
        ("ssl:443:privateKey=/nowhere.pem", "/nowhere.pem: No such file"),
        ("systemd:domain=INET", "Specify exactly one of"),
    ],
)
def test_a_wrong_endpoint_is_refused_with_a_reason(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        values.endpoint(text)


@given(st.text())
@example("tcp:80:interface=[")
@example("unix:a=b")
@example("systemd:domain=X:index=x")
def test_no_text_makes_an_endpoint_fail_otherwise(text: str) -> None:
    try:
        kept = values.endpoint(text)
    except ValueError as error:
        refused = str(error)
        assert "\n" not in refused
    else:
        assert kept == text


@pytest.mark.parametrize(
    "written", ["postgres://u:p@h:5433/ctf", "postgresql://u:p@h:5433/ctf", "postgresql+psycopg2://u:p@h:5433/ctf"]
)
def test_every_spelling_of_postgresql_means_psycopg_3(written: str) -> None:
    assert values.database_url(written) == "postgresql+psycopg://u:p@h:5433/ctf"


def test_a_password_survives_the_way_through_a_database_url() -> None:
    assert make_url(values.database_url("postgresql://u:p%40s%2F%3A@h/ctf")).password == "p@s/:"


def test_an_sqlite_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert values.database_url("sqlite:///ctf.sqlite") == f"sqlite:///{tmp_path}/ctf.sqlite"
    assert values.database_url("sqlite:////srv/ctf.sqlite") == "sqlite:////srv/ctf.sqlite"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ctf.sqlite",
        "mysql+pymysql://u:p@h/ctf",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite+aiosqlite:///x",
        "postgresql://h",
        "postgresql://h:x/ctf",
        "postgresql://h:99999/ctf",
    ],
)
def test_another_database_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"sqlite:///FILE|a port"):
        values.database_url(text)


@pytest.mark.parametrize("password", ["secret", "sec@ret", "se:cr/et", "s%40t"])
def test_a_password_is_not_shown(password: str) -> None:
    shown = values.masked_url(f"mysql://user:{password}@host/name")
    assert shown == "mysql://user:***@host/name"


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://ctf.example.org", "https://ctf.example.org"),
        ("https://CTF.Example.org/", "https://ctf.example.org"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("https://ctf.example.org:0443", "https://ctf.example.org:443"),
    ],
)
def test_a_public_url_is_an_origin(text: str, origin: str) -> None:
    assert values.origin(text) == origin


@pytest.mark.parametrize(
    "text",
    [
        "ctf.example.org",
        "ftp://h",
        "http://",
        "https://u:p@h",
        "http://h:99999",
        "http://[",
        "http://a b",
        "http://h/p",
        "http://h?q",
        "http://h#f",
        "//h",
        "",
    ],
)
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="scheme http or https"):
        values.origin(text)


def test_networks_are_addresses_or_ranges() -> None:
    assert values.network("10.0.0.0/8") == ip_network("10.0.0.0/8")
    assert values.network("::1") == ip_network("::1/128")


@pytest.mark.parametrize("text", ["10.0.0.0/99", "10.0.0.1/8", "proxy", "10.0.0"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CIDR ranges"):
        values.network(text)


@pytest.mark.parametrize("text", ["true", "True", "1", "1,1,1,1,0", "2, 1, 0, 0, 0"])
def test_reverse_proxy_trusts_the_private_networks(text: str) -> None:
    trusted = values.reverse_proxy(text)
    for address in ("127.0.0.1", "::1", "fc00::1", "10.2.3.4", "172.16.0.1", "172.31.255.255", "192.168.7.7"):
        assert any(ip_address(address) in network for network in trusted), address
    for address in ("127.0.0.2", "172.32.0.1", "192.169.0.1", "11.0.0.1", "2001:db8::1"):
        assert not any(ip_address(address) in network for network in trusted), address


@pytest.mark.parametrize("text", ["false", "0", "0,1,1,1,0"])
def test_reverse_proxy_may_trust_nobody(text: str) -> None:
    assert values.reverse_proxy(text) == ()


@pytest.mark.parametrize(("text", "root"), [("/", ""), ("/ctf", "/ctf"), ("/ctf/", "/ctf"), ("/a/b.c/~d", "/a/b.c/~d")])
def test_an_application_root_has_no_slash_at_its_end(text: str, root: str) -> None:
    assert values.root_path(text) == root


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (values.root_path, ""),
        (values.root_path, "ctf"),
        (values.root_path, "/a//b"),
        (values.root_path, "/../etc"),
        (values.root_path, "/a?b"),
        (values.header_prefix, "Service Webhook"),
        (values.header_prefix, "X:"),
        (values.header_prefix, "X-"),
        (values.header_prefix, "Ü"),
        (values.header_prefix, ""),
        (values.host_name, "ctf.example.org:80"),
        (values.host_name, "*.example.org"),
        (values.host_name, "a b"),
        (values.role, "Web"),
        (values.payload_status, "200"),
        (values.payload_status, "five hundred"),
        (values.password_rounds, "3"),
        (values.password_rounds, "17"),
        (values.password_rounds, "-5"),
        (values.password_rounds, "\N{ARABIC-INDIC DIGIT SEVEN}"),
        (values.boolean, "perhaps"),
        (values.reverse_proxy, "1,1"),
        (values.reverse_proxy, "a,b,c,d,e"),
        (values.reverse_proxy, "perhaps"),
    ],
)
def test_a_wrong_value_is_refused(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse(text)
