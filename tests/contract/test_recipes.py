"""Claims about CONTRIBUTING.md: whoever does what it says gets what it says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.site import PlatformSite
from ctfd_twisted.testing.builders import a_challenge
from ctfd_twisted.testing.platform import Client, MemoryPlatform
from ctfd_twisted.webhooks.tables import events

ROOT = Path(__file__).parents[2]
RECIPES = dict(
    re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
)


def blocks(recipe: str) -> list[str]:
    """The pieces of code of a recipe, in its order."""
    return re.findall(r"```python\n(.*?)```", RECIPES[recipe], re.DOTALL)


def cooked(recipe: str) -> dict[str, Any]:
    """The names that a recipe's code defines, one piece after the other."""
    names: dict[str, Any] = {}
    for block in blocks(recipe):
        exec(block, names)  # noqa: S102 - that it runs is the claim
    return names


@pytest.mark.parametrize("recipe", ["An endpoint", "A kind of challenge", "A webhook event"])
def test_a_recipe_is_short(recipe: str) -> None:
    assert blocks(recipe)
    assert all(block.count("\n") <= 30 for block in blocks(recipe))


class Extended(MemoryPlatform):
    """A platform in memory that has nothing but one further class of handlers."""

    def __init__(self, api: Any) -> None:
        super().__init__()
        self.setup()
        self._site = PlatformSite(self.platform.pipeline, [api(self.db)], lambda _call, _path: Answer(b"", 404))

    def client(self, token: str | None = None) -> Client:
        """Somebody new."""
        return Client(self._site.resource(), token)


@pytest.fixture
def endpoint() -> Iterator[tuple[dict[str, Any], Extended]]:
    names = cooked("An endpoint")
    platform = Extended(names["CategoriesApi"])
    yield names, platform
    platform.close()


def test_the_endpoints_own_tests_pass(conn: Connection, endpoint: tuple[dict[str, Any], Extended]) -> None:
    names, platform = endpoint
    tests = [name for name in names if name.startswith("test_")]
    assert tests == ["test_hidden_challenges_are_not_counted", "test_categories_are_for_those_who_see_challenges"]
    names[tests[0]](conn)
    names[tests[1]](platform)


def test_the_endpoint_answers_as_all_others_do(endpoint: tuple[dict[str, Any], Extended]) -> None:
    _, platform = endpoint
    platform.run(lambda conn: a_challenge(conn, category="crypto"))
    answer = platform.player("ada").get("/api/v1/categories")
    assert answer.json == {"success": True, "data": [{"name": "crypto", "challenges": 1}]}


def test_the_kind_of_challenge_is_found_and_holds_to_the_contract(tmp_path: Path) -> None:
    (tmp_path / "ctfd_twisted" / "plugins").mkdir(parents=True)
    (tmp_path / "ctfd_twisted" / "plugins" / "riddle.py").write_text("".join(blocks("A kind of challenge")))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "riddle"]
    done = subprocess.run(
        [*command, "tests/contract/test_challenge_types.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"^[1-9]\d* passed", done.stdout, re.MULTILINE), done.stdout


def test_the_event_is_in_the_log_of_webhooks(conn: Connection, now: datetime) -> None:
    names = cooked("A webhook event")
    challenge_id = a_challenge(conn, name="Warmup", category="web", state="hidden")
    names["release"](conn, now, msgspec.structs.replace(names["EXAMPLE"].challenge, id=challenge_id))
    assert conn.execute(select(challenges.c.state).where(challenges.c.id == challenge_id)).scalar() == "visible"
    logged = conn.execute(select(events)).one()
    assert logged.event == "challenge.released"
    assert msgspec.json.decode(logged.body) == {
        "challenge": {"id": challenge_id, "name": "Warmup", "category": "web", "value": 100},
        "date": "2026-03-14T15:09:26.535897+00:00",
    }
