"""The command ``ctfplatform``: administration from a shell, over the same configuration as the platform."""

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from sqlalchemy.exc import DBAPIError

from ctfd_twisted import __version__
from ctfd_twisted.accounts.setup import SetupForm
from ctfd_twisted.errors import DomainError, Invalid
from ctfd_twisted.ops import administration
from ctfd_twisted.ops.check_config import report
from ctfd_twisted.settings import SettingsError, values
from ctfd_twisted.settings.reading import Configuration, read_configuration
from ctfd_twisted.settings.table import CONFIG, OPTIONS, Option

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

    setup = _add(commands, "setup", _setup, "set a new competition up without the web page")
    setup.add_argument("--name", required=True, metavar="N", dest="event", help="the competition's name")
    setup.add_argument("--admin-name", required=True, metavar="A", help="the first administrator")
    setup.add_argument("--admin-email", required=True, metavar="E", help="their e-mail address")
    setup.add_argument(
        "--admin-password-file",
        metavar="F",
        help="a file whose first line is their password, - for standard input [default: ask]",
    )
    setup.add_argument("--mode", choices=("users", "teams"), default="users", help="who scores [default: users]")

    token = _add(commands, "token", _token, "print a new access token, once")
    token.add_argument("user", metavar="USER", help="name or e-mail address of its owner")
    token.add_argument("--expires", metavar="DAYS", type=_days, default=30, help="how long it lives [default: 30]")
    token.add_argument("--description", metavar="T", help="what it is for")

    _add(commands, "migrate", _migrate, "create or upgrade the schema, or adopt a CTFd database")

    export = _add(commands, "export", _export, "write the whole competition into an archive that CTFd reads, too")
    export.add_argument(
        "file", nargs="?", metavar="FILE.zip", help="where to [default: the competition's name and the hour]"
    )

    import_ = _add(commands, "import", _import, "put an archive, of this platform or CTFd, in the place of everything")
    import_.add_argument("archive", metavar="ARCHIVE.zip", help="the archive")
    import_.add_argument("--dry-run", action="store_true", help="change nothing, and say what would come of it")

    _add(commands, "check-config", _check_config, "print the effective configuration and where each value came from")

    demo = _add(commands, "demo", _demo, "run a small live competition on this machine, until interrupted", options=())
    demo.add_argument("--seconds", metavar="S", type=float, help="end it after so long")
    demo.add_argument("--port", metavar="P", type=_port, default=8000, help="the platform's port [default: 8000]")
    return top


def _add(
    commands: "argparse._SubParsersAction[Parser]",
    name: str,
    command: Command,
    summary: str,
    options: Sequence[Option] = (CONFIG, *OPTIONS),
) -> argparse.ArgumentParser:
    """Add a command with the platform's options; those that are not given are left to the other sources."""
    added = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    added.set_defaults(command=command)
    if not options:
        return added
    group = added.add_argument_group("configuration, as of twistd ctfplatform")
    for option in options:
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


def _port(text: str) -> int:
    try:
        return values.port(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected {error}; found {text!r}") from None


def _setup(chosen: argparse.Namespace) -> None:
    settings = _configuration(chosen).settings
    password = _password(chosen.admin_password_file)
    form = SetupForm(
        ctf_name=chosen.event,
        user_mode=chosen.mode,
        name=chosen.admin_name.strip(),
        email=chosen.admin_email.strip(),
        password=password,
    )
    administration.set_up(settings, form, say=print)
    print(f"{chosen.event} is set up; {form.name} is its administrator")


def _password(file: str | None) -> str:
    """The first line of *file*, of standard input for ``-``; without one the person at the terminal is asked twice."""
    if file is None:
        if not sys.stdin.isatty():
            raise administration.CannotAdminister("--admin-password-file is needed where nobody can be asked")
        first, again = (getpass.getpass(f"{ask}: ") for ask in ("The administrator's password", "Once more"))
        if first != again:
            raise administration.CannotAdminister("the two passwords differ")
        return first
    try:
        text = sys.stdin.readline() if file == "-" else values.path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise administration.CannotAdminister(f"--admin-password-file {file}: {error}") from None
    return text.partition("\n")[0].strip()


def _demo(chosen: argparse.Namespace) -> None:
    # It brings the reactor with it, which no other command needs.
    from ctfd_twisted.ops.demo.run import Ports, demo  # noqa: PLC0415

    demo(Ports(platform=chosen.port), chosen.seconds)


def _token(chosen: argparse.Namespace) -> None:
    settings = _configuration(chosen).settings
    print(administration.make_token(settings, chosen.user, chosen.expires, chosen.description))


def _migrate(chosen: argparse.Namespace) -> None:
    print(administration.migrate_database(_configuration(chosen).settings, say=print))


def _export(chosen: argparse.Namespace) -> None:
    # What it needs is needed by no other command.
    from ctfd_twisted.ops.export import export_archive  # noqa: PLC0415

    settings = _configuration(chosen).settings
    print(f"Exported to {export_archive(settings, None if chosen.file is None else values.path(chosen.file))}")


def _import(chosen: argparse.Namespace) -> None:
    # As above.
    from ctfd_twisted.ops.import_archive import import_archive  # noqa: PLC0415

    settings = _configuration(chosen).settings
    report = import_archive(settings, values.path(chosen.archive), dry_run=chosen.dry_run, say=print)
    for line in report.lines():
        print(line)
    print("Nothing was changed" if chosen.dry_run else "Imported; everybody has to sign in again")


def _check_config(chosen: argparse.Namespace) -> None:
    for line in report(_configuration(chosen, create=False), os.environ):
        print(line)


def _one_line(error: Exception) -> str:
    if isinstance(error, DBAPIError):
        return f"the database says: {' '.join(str(error.orig).split())}"
    if isinstance(error, Invalid):
        said = [[texts] if isinstance(texts, str) else texts for texts in error.errors.values()]
        return "; ".join(text for texts in said for text in texts)
    return str(error)
