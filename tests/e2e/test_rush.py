"""The rehearsal of an opening minute, on a server of its own and on somebody's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from running import Person, PlatformProcess

from bench.rush import main, place_of
from bench.rush_chart import as_html
from bench.rush_report import as_text, report
from bench.rush_shapes import Sample
from bench.rush_watch import Look

ROOT = Path(__file__).parents[2]
TOKEN = "ctfd_" + "0" * 64


def rush(*options: str | Path) -> str:
    """Run it as an organiser would; what it printed."""
    command = [sys.executable, "-m", "bench", "rush", "--players", "8", "--seconds", "4", *map(str, options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def told(folder: Path) -> Any:
    page = (folder / "rush.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("https://", "http://").split("<style>")[0]
    return json.loads((folder / "rush.json").read_text())


@pytest.mark.parametrize("how", [[], ["--logins"]])
def test_a_server_of_its_own_is_rushed(tmp_path: Path, how: list[str]) -> None:
    printed = rush("--out", tmp_path, *how)
    report = told(tmp_path)
    kinds = {kind["name"]: kind for kind in report["kinds"]}
    assert kinds["list"]["requests"] >= 8
    assert ("login" in kinds) == bool(how)
    assert all(kind["faults"] == {} for kind in kinds.values())
    assert report["server"]["memory_mb"] > 0
    assert "faults" in printed


def test_an_installation_is_rushed_by_players_who_are_gone_afterwards(tmp_path: Path) -> None:
    preset = {
        "PRESET_ADMIN_NAME": "boss",
        "PRESET_ADMIN_EMAIL": "boss@example.org",
        "PRESET_ADMIN_PASSWORD": "of nobody",
        "PRESET_ADMIN_TOKEN": TOKEN,
    }
    account = {"name": "admin", "email": "admin@example.org", "password": "a long password"}
    with PlatformProcess(tmp_path, **preset) as platform:
        Person(platform).submit("/setup", ctf_name="CTF", user_mode="teams", **account)
        boss = Person(platform, TOKEN)
        challenge = {"name": "First", "category": "web", "description": "?", "value": 100, "type": "standard"}
        number = boss.call("POST", "/challenges", {**challenge, "state": "visible"})["id"]
        flag = {"challenge_id": number, "content": "flag{right}", "type": "static", "data": ""}
        boss.call("POST", "/flags", flag)
        where = ("--url", platform.base, "--admin-token", TOKEN, "--out", tmp_path / "rush")
        rush(*where, "--clean")
        assert {kind["name"] for kind in told(tmp_path / "rush")["kinds"]} >= {"page", "list"}
        everybody = "/users?view=admin"
        assert not [user for user in boss.call("GET", everybody) if user["name"].startswith("rush-")]
        assert boss.call("GET", "/teams?view=admin") == []
        rush(*where)
        rush(
            "--url",
            platform.base,
            "--tokens",
            tmp_path / "rush" / "players.txt",
            "--out",
            tmp_path / "again",
            "--logins",
        )
        assert len([user for user in boss.call("GET", everybody) if user["name"].startswith("rush-")]) == 8


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://[::1]:8000", "http://localhost", "https://127.9.9.9/ctf"]
)
def test_this_machine_may_be_rushed(url: str) -> None:
    assert place_of(url, allowed=False).port in {80, 443, 8000}


@pytest.mark.parametrize("url", ["https://ctf.example.org", "http://192.0.2.1", "http://127.0.0.1.example.org"])
def test_another_machine_is_not_rushed_without_its_owners_word(url: str) -> None:
    with pytest.raises(SystemExit, match="--i-run-this-server"):
        main(["--url", url, "--admin-token", TOKEN])
    assert place_of(url, allowed=True).host in url


@pytest.mark.parametrize("arguments", [["--url", "ftp://127.0.0.1"], ["--url", "http://127.0.0.1:1"]])
def test_what_can_not_be_played_is_said(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"address|--admin-token"):
        main(arguments)


def test_each_end_is_counted_as_what_it_is_and_only_good_answers_have_times() -> None:
    ends = [(200, None, ""), (429, 5, ""), (503, 2, ""), (503, None, "503"), (0, None, "TimeoutError")]
    samples = [
        Sample("list", 0.5 + second, 0.01 * (second + 1), *end) for second, end in enumerate([*ends, ends[0], ends[4]])
    ]
    looks = [Look(0, 0.001, 1.0, 90, 0.0), Look(1, 0.2, 3.5, 120, 4.0)]
    made = report("here", 3, 7, samples, [0.004], looks, "2 cores")
    (kind,) = made.kinds
    assert (kind.requests, kind.limited, kind.sent_away) == (7, 1, 1)
    assert kind.faults == {"TimeoutError": 2, "503": 1}
    assert (kind.p50, kind.longest, made.faults) == (60.0, 60.0, 3)
    assert (made.server.cpu_seconds, made.server.memory_mb, made.server.longest_pause) == (2.5, 120, 200.0)
    assert [second.good for second in made.by_second] == [1, 0, 0, 0, 0, 1, 0, 0]
    for text in (as_text(made), as_html(made)):
        assert "TimeoutError" in text
        assert "4.0 s" in text
