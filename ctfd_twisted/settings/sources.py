"""Where settings come from: the command line, else the environment, else the TOML file, else the defaults."""

import tomllib
from collections.abc import Callable, Container, Mapping
from typing import TypeVar

from msgspec import Struct

from ctfd_twisted.settings import SettingsError, values
from ctfd_twisted.settings.table import CONFIG, OPTIONS, Option

T = TypeVar("T")
D = TypeVar("D")

#: What the command line gives: one text, or a list where an option may be repeated.
Given = Mapping[str, str | list[str]]

_BY_NAME = {option.name: option for option in OPTIONS}


class Found(Struct, frozen=True):
    """A value as it was written, and by whom: ``command line``, the name of a variable, or the path of a file."""

    raw: str | list[str]
    origin: str

    @property
    def text(self) -> str:
        """The value on one line."""
        return self.raw if isinstance(self.raw, str) else " ".join(self.raw)


class Sources:
    """The three places in which a deployment may set an option.

    Raises :class:`SettingsError` for a file that cannot be read, is no TOML, or has a key that is no option.
    """

    def __init__(self, command_line: Given, environ: Mapping[str, str]) -> None:
        self._command_line = command_line
        self._environ = environ
        self._origins: dict[str, str] = {}
        self._file: dict[str, str | list[str]] = {}
        self.file_name = ""
        found = self._outside_file(CONFIG)
        if found is not None:
            self.file_name = found.text
            self._file = _read_file(found)

    def variable(self, name: str) -> str | None:
        """An environment variable; an empty one counts as not set, as in CTFd."""
        return self._environ.get(name) or None

    def find(self, name: str, *, but: Container[str] = ()) -> Found | None:
        """The value of option *name* from the strongest source that has one; variables in *but* are not asked."""
        option = _BY_NAME[name]
        found = self._outside_file(option, but)
        if found is None and option.key in self._file:
            found = Found(self._file[option.key], self.file_name)
        self._origins[name] = found.origin if found else "default"
        return found

    def origin(self, name: str) -> str:
        """Where the value of *name* came from when it was asked for."""
        return self._origins[name]

    def one(self, name: str, default: D, parse: Callable[[str], T], *, but: Container[str] = ()) -> T | D:
        """The value of an option that has one; *default* is taken as it is, variables in *but* are not asked."""
        found = self.find(name, but=but)
        if found is None:
            return default
        if isinstance(found.raw, list):
            raise wrong(name, found, "one value, not a list")
        return parsed(name, found, parse, found.raw)

    def some(self, name: str, default: tuple[T, ...], parse: Callable[[str], T], *, least: int = 0) -> tuple[T, ...]:
        """The values, at *least* so many, of an option that has a list of them; *default* is taken as it is."""
        found = self.find(name)
        if found is None:
            return default
        items = _items(found.raw, _BY_NAME[name])
        if len(items) < least:
            raise wrong(name, found, f"a list of at least {least}")
        return tuple(dict.fromkeys(parsed(name, found, parse, text) for text in items))

    def _outside_file(self, option: Option, but: Container[str] = ()) -> Found | None:
        if option.name in self._command_line:
            return Found(self._command_line[option.name], "command line")
        for name in option.environment:
            text = None if name in but else self.variable(name)
            if text is not None:
                return Found(text, name)
        return None


def wrong(name: str, found: Found, expected: object, text: str | None = None) -> SettingsError:
    """The one line about a wrong value; a password within a URL is not repeated."""
    shown = values.masked_url(found.text if text is None else text)
    return SettingsError(f"--{name}: expected {expected}; found {shown!r} ({found.origin})")


def parsed(name: str, found: Found, parse: Callable[[str], T], text: str) -> T:
    """``parse(text)``, or the line that says what is wrong with it."""
    try:
        return parse(text)
    except ValueError as error:
        raise wrong(name, found, error, text) from None


def _items(raw: str | list[str], option: Option) -> list[str]:
    if isinstance(raw, list):
        return raw
    return [item.strip() for item in raw.split(option.separator) if item.strip()]


def _read_file(found: Found) -> dict[str, str | list[str]]:
    """The options in a TOML file by their keys; names may be written with underscores or with dashes."""
    known = {option.key for option in OPTIONS}
    read: dict[str, str | list[str]] = {}
    for name, value in read_toml("config", found).items():
        key = name.replace("-", "_")
        if key not in known:
            raise wrong("config", Found(name, found.text), "only the names of options as keys")
        if key in read:
            raise wrong("config", Found(name, found.text), "each option in one spelling only")
        read[key] = _toml_text(name, value, found)
    return read


def read_toml(name: str, found: Found) -> dict[str, object]:
    """The table in the TOML file that option *name* names."""
    try:
        return tomllib.loads(values.path(found.text).read_text(encoding="utf-8"))
    except OSError as error:
        raise wrong(name, found, f"a readable file ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise wrong(name, found, f"a TOML file ({error})") from None


def _toml_text(name: str, value: object, found: Found) -> str | list[str]:
    if isinstance(value, list):
        return [_toml_scalar(name, item, found) for item in value]
    return _toml_scalar(name, value, found)


def _toml_scalar(name: str, value: object, found: Found) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise wrong(name.replace("_", "-"), Found(str(value), found.text), "a string, a whole number or a list of them")
