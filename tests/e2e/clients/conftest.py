"""Fixtures of the tests with programs of others: where those are, a platform, and who organises the event."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from organiser import Organiser, set_up
from running import Person, PlatformProcess

COMMANDS = Path(__file__).parents[3] / ".venv-clients" / "bin"


@pytest.fixture(scope="session")
def clients() -> Path:
    """The folder of the commands that ``requirements.txt`` brings."""
    if not all((COMMANDS / name).exists() for name in ("ctf", "ctfd-mcp")):
        absent = f"no programs of others in {COMMANDS}: `make test-e2e` installs them"
        if os.environ.get("CI") == "true":
            pytest.fail(absent)
        pytest.skip(absent)
    return COMMANDS


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[PlatformProcess]:
    """A platform on SQLite."""
    with PlatformProcess(tmp_path) as running:
        yield running


@pytest.fixture
def token(platform: PlatformProcess) -> str:
    """A token of the administrator of a competition of players without teams."""
    return set_up(platform)


@pytest.fixture
def admin(platform: PlatformProcess, token: str) -> Person:
    """The administrator."""
    return Person(platform, token)


@pytest.fixture
def organiser(clients: Path, platform: PlatformProcess, token: str, tmp_path: Path) -> Organiser:
    """Somebody with the ten challenges in a project, none of which is installed yet."""
    return Organiser(clients, tmp_path / "event", platform, token)
