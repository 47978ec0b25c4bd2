"""The command ``ctfplatform``: administration from a shell, over the same configuration as the platform."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from sqlalchemy.exc import DBAPIError

from ctfd_twisted import __version__
from ctfd_twisted.errors import DomainError
from ctfd_twisted.ops import administration
from ctfd_twisted.ops.check_config import report
from ctfd_twisted.settings import SettingsError
from ctfd_twisted.settings.reading import Configuration, read_configuration
from ctfd_twisted.settings.table import CONFIG, OPTIONS

Command = Callable[[argparse.Namespace], None]


class Parser(argparse.ArgumentParser):
    """A parser that takes whole words only and refuses with one line and status 1, as the platform does."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{**keywords, "allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        """End the process."""
        self.exit(1, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0, or 1 after one line on standard error."""
    chosen = parser().parse_args(arguments)
    command: Command = chosen.command
    try:
        command(chosen)
    except (SettingsError, DomainError, DBAPIError) as error:
        sys.stderr.write(f"ctfplatform {chosen.name}: {_one_line(error)}\n")
        return 1
    except KeyboardInterrupt:
        return 130  # what a shell says of a program that was interrupted
    return 0


def parser() -> Parser:
    """The command line of all commands."""
    top = Parser(prog="ctfplatform", description="Administration of a ctfplatform from a shell.")
    top.add_argument("--version", action="version", version=f"ctfd-twisted {__version__}")
    commands = top.add_subparsers(dest="name", metavar="COMMAND", required=True, parser_class=Parser)

    token = _add(commands, "token", _token, "print a new access token, once")
    token.add_argument("user", metavar="USER", help="name or e-mail address of its owner")
    token.add_argument("--expires", metavar="DAYS", type=_days, default=30, help="how long it lives [default: 30]")
    token.add_argument("--description", metavar="T", help="what it is for")

    _add(commands, "migrate", _migrate, "create or upgrade the schema, or adopt a CTFd database")
    _add(commands, "check-config", _check_config, "print the effective configuration and where each value came from")
    return top


def _add(
    commands: "argparse._SubParsersAction[Parser]", name: str, command: Command, summary: str
) -> argparse.ArgumentParser:
    """Add a command with the platform's options; those that are not given are left to the other sources."""
    added = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    added.set_defaults(command=command)
    group = added.add_argument_group("configuration, as of twistd ctfplatform")
    for option in (CONFIG, *OPTIONS):
        action = "append" if option.repeats else "store"
        text = option.help.replace("%", "%%")
        group.add_argument(
            f"--{option.name}", metavar=option.metavar, action=action, dest=_SLOT + option.name, help=text
        )
    return added


#: Keeps the platform's options apart from the commands' own.
_SLOT = "setting "


def _configuration(chosen: argparse.Namespace, *, create: bool = True) -> Configuration:
    slots = {name.removeprefix(_SLOT): value for name, value in vars(chosen).items() if name.startswith(_SLOT)}
    given = {name: value for name, value in slots.items() if value is not None}
    return read_configuration(given, os.environ, create=create)


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= administration.LONGEST_TOKEN_DAYS):
        raise argparse.ArgumentTypeError(
            f"expected a number of days from 1 to {administration.LONGEST_TOKEN_DAYS}; found {text!r}"
        )
    return int(text)


def _token(chosen: argparse.Namespace) -> None:
    settings = _configuration(chosen).settings
    print(administration.make_token(settings, chosen.user, chosen.expires, chosen.description))


def _migrate(chosen: argparse.Namespace) -> None:
    print(administration.migrate_database(_configuration(chosen).settings, say=print))


def _check_config(chosen: argparse.Namespace) -> None:
    for line in report(_configuration(chosen, create=False), os.environ):
        print(line)


def _one_line(error: Exception) -> str:
    if isinstance(error, DBAPIError):
        return f"the database says: {' '.join(str(error.orig).split())}"
    return str(error)
