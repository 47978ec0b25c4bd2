"""ctfcli, the command of organisers, as published: ten challenges go to the platform and come back the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from organiser import CHALLENGES, Organiser, install, installed, mirror
from running import Person, PlatformProcess


@pytest.fixture
def platform(tmp_path: Path, database_url: str) -> Iterator[PlatformProcess]:
    with PlatformProcess(tmp_path, database_url) as running:
        yield running


def test_an_event_goes_there_and_back_without_a_difference(organiser: Organiser, admin: Person) -> None:
    for challenge in CHALLENGES:
        assert "didn't find any issues" in organiser.ctf("challenge", "lint", challenge, "--skip_hadolint")
    install(organiser)
    before = installed(admin)
    assert_as_written(before)

    mirror(organiser)
    assert "out of sync" not in organiser.ctf("challenge", "verify")
    assert installed(admin) == before
    # The second time there is nothing left to do.
    assert organiser.ctf("challenge", "mirror").count("already in sync") == len(CHALLENGES)
    assert organiser.changed == ""
    assert organiser.ctf("challenge", "install", status=1).count("Found already existing challenge") == len(CHALLENGES)
    organiser.ctf("challenge", "sync")
    organiser.ctf("challenge", "install", "--force")
    assert installed(admin) == before
    # Synced hints are new rows, and mirrored definitions name those that others require by their ids.
    organiser.ctf("challenge", "mirror")
    assert [line for line in organiser.changed.splitlines() if line[:2] in {"+ ", "- "} and "hint-" not in line] == []
    assert "out of sync" not in organiser.ctf("challenge", "verify")
    assert "passed the healthcheck" in organiser.ctf("challenge", "healthcheck", "pwn/locked-room")


def assert_as_written(found: dict[str, dict[str, Any]]) -> None:
    """Compare what the platform has with what the definitions say."""
    assert len(found) == len(CHALLENGES)
    jar = found["Cookie jar"]
    assert jar["hints"] == [
        ("", "There is more than one jar.", 10, []),
        ("The colour", "The lid is blue.", 5, []),
        ("", "It smells of ginger.", 0, []),
        ("The recipe", "Ginger under a blue lid is what the key is made of.", 25, [1, 2]),
    ]
    assert (jar["next"], jar["tags"], jar["topics"]) == (
        "Second helping",
        ["web", "cookies"],
        ["cookies", "signed values"],
    )
    assert sorted(jar["files"]) == ["crumbs.txt", "jar.py"]
    assert jar["connection_info"] == "https://jar.example.org/?from=event&lid=off"
    again = found["Second helping"]
    assert again["flags"] == [("static", "event{More Crumbs}", "case_insensitive"), ("static", "event{more}", None)]
    assert set(again["requirements"]["prerequisites"]) == {"Cookie jar", "Sanity check"}
    assert found["Behind the veil"]["requirements"] == {"prerequisites": ["Three keys"], "anonymize": True}
    assert found["Three keys"]["flags"][2] == ("regex", r"event\{gold-[0-9]{4}\}", "")

    def scored(name: str) -> list[Any]:
        return [found[name][field] for field in ("type", "function", "initial", "decay", "minimum", "value")]

    assert scored("Slow burn") == ["dynamic", "linear", 400, 10, 150, 400]
    assert scored("Falling star") == ["dynamic", "logarithmic", 500, 25, 100, 500]
    assert scored("Grüße aus Köln, 明信片") == ["standard", "linear", 300, 20, 100, 300]
    assert scored("Sanity check") == ["standard", "static", None, None, None, 50]
    assert found["Locked room"]["max_attempts"] == 3
    assert {name: one["logic"] for name, one in found.items() if one["logic"] != "any"} == {
        "Three keys": "all",
        "Grüße aus Köln, 明信片": "team",
    }
    assert [name for name, one in found.items() if one["state"] == "hidden"] == ["Unfinished"]
    state, writeup = found["Unfinished"]["solution"]
    assert (state, "![the wave](/files/…/wave.png)" in writeup, "sox tape.wav" in writeup) == ("solved", True, True)
