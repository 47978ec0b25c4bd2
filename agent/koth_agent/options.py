"""The command line: parsed once, into one frozen ``Settings``."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from twisted.copyright import version as twisted_version
from twisted.internet.ssl import CertificateOptions
from twisted.python.usage import Options, UsageError

from koth_agent import __version__
from koth_agent.access import Network, parse_networks
from koth_agent.errors import StartError, ending
from koth_agent.tls import Pem, server_options

KEY_VARIABLE = "KOTHAGENT_APIKEY"
PORT = re.compile(r"[0-9]{1,5}")
LAST_PORT = 65535
LONGEST_TIMEOUT = 3600.0  # seconds

PLAIN = "Running without encryption"
FROM_FILES = "Running with encryption certificates from filesystem"
PINNED = "Running with pinned encryption certificates"


@dataclass(frozen=True)
class Settings:
    """How one agent runs."""

    key: bytes | None = field(repr=False)
    file: str
    owner_cmd: str | None
    health_cmd: str
    host: str
    port: int
    listen: str | None  # an endpoint string, instead of host and port
    networks: tuple[Network, ...]
    tls: CertificateOptions | None
    encryption: str  # the start line about it
    command_timeout: float  # seconds


class AgentOptions(Options):
    """The options of ``twistd kothagent`` and ``kothagent``; after parsing, ``settings`` is there.

    What is wrong ends the process with one line on standard error and status 1, here and not in twistd, which would
    print its own manual for it. No message shows a value that may be a key.
    """

    longdesc = (
        "Answers on /status who holds this host, and on /healthcheck whether it is well. "
        "Long options may be written with one dash or two. "
        "`kothagent certify NAME [IP:... DNS:...]` makes a certificate."
    )
    optParameters = [  # noqa: RUF012 - Twisted's way to declare them
        ["apikey", None, None, f"key that a request must carry (shows in the process list; see also {KEY_VARIABLE})"],
        ["apikey-file", None, None, "file that holds the key"],
        ["file", None, "owner.txt", "the watched file, whose text is the owner"],
        ["owner-cmd", None, None, "command whose standard output is the owner, instead of the file"],
        ["health-cmd", None, "true", "command run by /healthcheck"],
        ["host", None, "0.0.0.0", "address to listen on"],  # noqa: S104 - the contract's default
        ["port", None, "31337", "port to listen on"],
        ["listen", None, None, "Twisted endpoint to listen on, instead of host and port"],
        ["origin", None, "0.0.0.0/0,::/0", "CIDR ranges that may connect"],
        ["certfile", None, None, "PEM file with the certificate (and its chain): serve TLS"],
        ["keyfile", None, None, "PEM file with the certificate's key"],
        ["certstring", None, None, "the certificate as PEM text"],
        ["keystring", None, None, "the key as PEM text (shows in the process list)"],
        ["client-ca", None, None, "PEM file: ask for a client certificate signed by it"],
        ["command-timeout", None, "10", "seconds after which a command is killed"],
    ]
    settings: Settings

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        super().__init__()
        self._environment = environment

    def opt_version(self) -> NoReturn:
        """Show the version and exit."""
        sys.stdout.write(f"kothagent {__version__} (Twisted {twisted_version})\n")
        raise SystemExit(0)

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Parse *options*, or the process's own. Ends the process if they are wrong."""
        try:
            super().parseOptions(self._spelled_out(sys.argv[1:] if options is None else options))
        except (UsageError, StartError) as error:
            raise ending(error) from error

    def postOptions(self) -> None:
        """Make the settings."""
        tls, encryption = self._encryption()
        self.settings = Settings(
            key=self._key(),
            file=self["file"],
            owner_cmd=self["owner-cmd"] or None,
            health_cmd=self["health-cmd"],
            host=self["host"],
            port=self._port(),
            listen=self["listen"] or None,
            networks=self._networks(),
            tls=tls,
            encryption=encryption,
            command_timeout=self._command_timeout(),
        )

    def _spelled_out(self, words: Sequence[str]) -> list[str]:
        """*words* with each option as ``--name`` or ``--name=value``, which is all that getopt has to understand.

        A value is taken as it stands, whatever it begins with. Names are not completed: a mistyped option is an error.
        """
        takes_value = {name.rstrip("="): name.endswith("=") for name in self.longOpt}
        spelled: list[str] = []
        rest = iter(words)
        for word in rest:
            if not word.startswith("-") or word in {"-", "--"}:
                after = spelled[-1].partition("=")[0] if spelled else "kothagent"
                raise UsageError(f"unexpected argument after {after}")
            name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
            name = {"h": "help"}.get(name, name)
            if name not in takes_value:
                raise UsageError(f"unknown option --{name}")
            if not takes_value[name]:
                if equals:
                    raise UsageError(f"option --{name} takes no value")
                spelled.append(f"--{name}")
                continue
            if not equals:
                following = next(rest, None)
                if following is None:
                    raise UsageError(f"option --{name} needs a value")
                value = following
            spelled.append(f"--{name}={value}")
        return spelled

    def _key(self) -> bytes | None:
        if self["apikey"] is not None:
            key = os.fsencode(self["apikey"]).strip()
        elif self["apikey-file"] is not None:
            key = self._read("apikey-file").strip()
            if not key:
                # An empty --apikey is somebody's word for none. An empty file is an accident, and must not
                # open the agent to everybody.
                raise StartError(f"apikey-file {self['apikey-file']}: the file is empty")
        else:
            key = os.fsencode(self._environment.get(KEY_VARIABLE, "")).strip()
        if any(byte < ord(" ") for byte in key):
            raise StartError("apikey: a header can't carry the control characters in it")
        return key or None

    def _port(self) -> int:
        text = self["port"]
        if not (PORT.fullmatch(text) and int(text) <= LAST_PORT):
            raise StartError(f"port {text!r}: expected a number from 0 to {LAST_PORT}")
        return int(text)

    def _networks(self) -> tuple[Network, ...]:
        try:
            return parse_networks(self["origin"])
        except ValueError as error:
            raise StartError(f"origin {self['origin']!r}: {error}") from error

    def _command_timeout(self) -> float:
        try:
            seconds = float(self["command-timeout"])
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= LONGEST_TIMEOUT:
            expected = f"expected seconds, above 0 and up to {LONGEST_TIMEOUT:.0f}"
            raise StartError(f"command-timeout {self['command-timeout']!r}: {expected}")
        return seconds

    def _encryption(self) -> tuple[CertificateOptions | None, str]:
        """The TLS options, or None, and the start line that goes with them."""
        from_files = self._pair("certfile", "keyfile")
        from_text = self._pair("certstring", "keystring")
        if from_files and from_text:
            raise StartError("certfile and certstring: give one of them")
        own_tls = str(self["listen"] or "").startswith("ssl:")
        if not from_files and not from_text:
            if self["client-ca"] is not None:
                raise StartError("client-ca: there is no TLS without certfile and keyfile")
            return None, FROM_FILES if own_tls else PLAIN
        if own_tls:
            raise StartError("listen: an ssl: endpoint has its own certificate; use tcp: with certfile and keyfile")
        client_ca = self._file("client-ca") if self["client-ca"] is not None else None
        if from_files:
            return server_options(self._file("certfile"), self._file("keyfile"), client_ca), FROM_FILES
        certificate, key = (Pem(name, os.fsencode(self[name])) for name in ("certstring", "keystring"))
        return server_options(certificate, key, client_ca), PINNED

    def _pair(self, certificate: str, key: str) -> bool:
        """Whether both options of a pair are there. Empty ones are not, as for the Go agent."""
        if bool(self[certificate]) != bool(self[key]):
            there, missing = (certificate, key) if self[certificate] else (key, certificate)
            raise StartError(f"{there} is given without {missing}")
        return bool(self[certificate])

    def _file(self, option: str) -> Pem:
        return Pem(f"{option} {self[option]}", self._read(option))

    def _read(self, option: str) -> bytes:
        path = self[option]
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise StartError(f"{option} {path}: {error.strerror}") from error
