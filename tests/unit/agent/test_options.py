"""The command line, without files: those are in tests/integration/agent."""

import pytest
from twisted.application.service import IServiceMaker
from twisted.plugin import getPlugins

from koth_agent.access import parse_networks
from koth_agent.options import AgentOptions, Settings


def parse(*words: str, **environment: str) -> Settings:
    options = AgentOptions(environment)
    options.parseOptions(words)
    return options.settings


def refusal(*words: str) -> str:
    """The one line that *words* end the process with."""
    with pytest.raises(SystemExit) as caught:
        parse(*words)
    line = str(caught.value.code)
    assert line.startswith("kothagent: ")
    assert "\n" not in line
    return line.removeprefix("kothagent: ")


def test_the_defaults_are_those_of_the_go_agent() -> None:
    settings = parse()
    assert settings == Settings(
        key=None,
        file="owner.txt",
        owner_cmd=None,
        health_cmd="true",
        host="0.0.0.0",  # noqa: S104
        port=31337,
        listen=None,
        networks=parse_networks("0.0.0.0/0,::/0"),
        tls=None,
        encryption="Running without encryption",
        command_timeout=10.0,
    )


@pytest.mark.parametrize("words", [["-apikey", "K"], ["--apikey", "K"], ["-apikey=K"], ["--apikey=K"]])
def test_one_dash_or_two_a_space_or_an_equals_sign(words: list[str]) -> None:
    assert parse(*words).key == b"K"


def test_every_option_can_be_written_with_one_dash() -> None:
    settings = parse(
        *("-file", "o", "-owner-cmd", "cat o", "-health-cmd=curl -sf x", "-host", "::1", "-port=0"),
        *("-listen", "tcp:0", "-origin", "10.0.0.0/8", "-command-timeout", "2.5"),
    )
    assert (settings.file, settings.owner_cmd, settings.health_cmd) == ("o", "cat o", "curl -sf x")
    assert (settings.host, settings.port, settings.listen) == ("::1", 0, "tcp:0")
    assert (settings.networks, settings.command_timeout) == (parse_networks("10.0.0.0/8"), 2.5)


def test_a_value_may_begin_with_a_dash_or_hold_an_equals_sign() -> None:
    assert parse("-apikey", "-file", "-file", "--x=y").file == "--x=y"
    assert parse("-apikey", "-file").key == b"-file"
    assert parse("-apikey=a=b").key == b"a=b"


def test_the_last_of_equal_options_counts() -> None:
    assert parse("-port", "1", "--port=2").port == 2


def test_the_key_may_come_from_the_environment() -> None:
    assert parse(KOTHAGENT_APIKEY=" K\n").key == b"K"
    assert parse("-apikey", "L", KOTHAGENT_APIKEY="K").key == b"L"
    assert parse(KOTHAGENT_APIKEY="").key is None
    assert parse("-apikey", "", KOTHAGENT_APIKEY="K").key is None


def test_settings_do_not_show_the_key() -> None:
    assert "hush" not in repr(parse("-apikey", "hush"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["-port", "x"], "port 'x': expected a number from 0 to 65535"),
        (["-port", "65536"], "port '65536': expected a number from 0 to 65535"),
        (["-port", "-1"], "port '-1': expected a number from 0 to 65535"),
        (["-port", "9" * 9], "port '999999999': expected a number from 0 to 65535"),
        (["-port", "²"], "port '²': expected a number from 0 to 65535"),
        (
            ["-origin", "10.0.0.0/33"],
            "origin '10.0.0.0/33': '10.0.0.0/33' does not appear to be an IPv4 or IPv6 network",
        ),
        (["-command-timeout", "0"], "command-timeout '0': expected seconds, above 0 and up to 3600"),
        (["-command-timeout", "inf"], "command-timeout 'inf': expected seconds, above 0 and up to 3600"),
        (["-command-timeout", "soon"], "command-timeout 'soon': expected seconds, above 0 and up to 3600"),
        (["-certfile", "a"], "certfile is given without keyfile"),
        (["-keyfile", "a"], "keyfile is given without certfile"),
        (["-certstring", "a"], "certstring is given without keystring"),
        (["-certfile", "a", "-keystring", "b"], "certfile is given without keyfile"),
        (
            ["-certstring", "a", "-keystring", "b", "-certfile", "c", "-keyfile", "d"],
            "certfile and certstring: give one of them",
        ),
        (["-client-ca", "a"], "client-ca: there is no TLS without certfile and keyfile"),
        (["-certstring", "a", "-keystring", "b"], "certstring: no certificate in PEM form"),
        (["-port"], "option --port needs a value"),
        (["-help=yes"], "option --help takes no value"),
        (["-apikye=SECRET"], "unknown option --apikye"),
        (["-key", "SECRET"], "unknown option --key"),
        (["-apikey", "K", "SECRET"], "unexpected argument after --apikey"),
        (["SECRET"], "unexpected argument after kothagent"),
        (["--", "x"], "unexpected argument after kothagent"),
        (["-apikey", "two\nlines"], "apikey: a header can't carry the control characters in it"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_without_a_secret(words: list[str], line: str) -> None:
    assert refusal(*words) == line


def test_an_endpoint_with_tls_of_its_own_is_called_encrypted() -> None:
    assert parse("-listen", "ssl:0").encryption == "Running with encryption certificates from filesystem"
    assert refusal("-listen", "ssl:0", "-certstring", "a", "-keystring", "b").startswith("listen: an ssl: endpoint")


@pytest.mark.parametrize("word", ["-h", "-help", "--help"])
def test_help_lists_every_option(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(word)
    assert not caught.value.code
    text = capsys.readouterr().out
    for name in ("apikey", "apikey-file", "owner-cmd", "client-ca", "command-timeout", "listen", "origin", "version"):
        assert f"--{name}" in text


def test_version_is_the_agent_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse("-version")
    assert not caught.value.code
    assert capsys.readouterr().out.startswith("kothagent 1.")


def test_twistd_finds_the_agent() -> None:
    (maker,) = [plugin for plugin in getPlugins(IServiceMaker) if plugin.tapname == "kothagent"]
    assert maker.options is AgentOptions
    assert callable(maker.makeService)
