"""The options of ``twistd ctfplatform``."""

import os
import sys
from collections.abc import Sequence

from twisted.python import usage

from ctfd_twisted import __version__
from ctfd_twisted.settings import Settings, SettingsError
from ctfd_twisted.settings.reading import read_configuration
from ctfd_twisted.settings.table import CONFIG, OPTIONS


class Options(usage.Options):
    """The command line, joined with the environment and the TOML file into ``settings``.

    Anything wrong ends the process with one line on standard error and status 1: of its own, twistd would print its
    whole help text about a wrong option.
    """

    synopsis = "[options]"
    longdesc = "Every option may also stand in the environment or in a TOML file; docs/operations.md lists them all."
    optParameters = [  # noqa: RUF012 - usage.Options gathers this name from the classes
        [option.name, None, None, option.help] for option in (CONFIG, *OPTIONS) if not option.repeats
    ]

    settings: Settings

    def __init__(self) -> None:
        super().__init__()
        self._repeated: dict[str, list[str]] = {}

    def opt_listen(self, endpoint: str) -> None:
        """Where to listen: a tcp:, ssl:, unix:, systemd: or onion: endpoint; may be repeated.

        [default: tcp:8000:interface=127.0.0.1]
        """
        self._repeated.setdefault("listen", []).append(endpoint)

    def opt_version(self) -> None:
        """Print the platform's version and exit."""
        sys.stdout.write(f"ctfd-twisted {__version__}\n")
        sys.exit(0)

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Parse *options* and read the rest of the configuration; ends the process if anything is wrong."""
        try:
            super().parseOptions(options)
        except usage.UsageError as error:
            sys.exit(f"twistd ctfplatform: {error}")

    def postOptions(self) -> None:
        """Make ``settings`` out of what was given."""
        try:
            self.settings = self.read()
        except SettingsError as error:
            raise usage.UsageError(str(error)) from None

    def read(self) -> Settings:
        """The settings as command line, environment and file have them now; raises ``SettingsError``."""
        given = {name: value for name, value in self.items() if value is not None}
        return read_configuration({**given, **self._repeated}, os.environ, create=True).settings
