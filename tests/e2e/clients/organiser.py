"""Somebody who keeps an event in a git repository and uses ``ctf`` on it, and what the platform then has."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from running import DEADLINE, Person, PlatformProcess

#: The challenges in the order in which they are added: what one requires stands before it.
CHALLENGES = (
    "misc/sanity-check",
    "web/cookie-jar",
    "web/second-helping",
    "crypto/slow-burn",
    "crypto/falling-star",
    "pwn/locked-room",
    "reversing/three-keys",
    "forensics/behind-the-veil",
    "forensics/unfinished",
    "osint/postcard",
)


def set_up(platform: PlatformProcess, mode: str = "users") -> str:
    """Set the competition up in a browser; a token of the administrator."""
    browser = Person(platform)
    account = {"name": "organiser", "email": "organiser@example.org", "password": "a long password"}
    done = browser.submit("/setup", ctf_name="The event", ctf_description="", user_mode=mode, **account)
    assert done.status_code == 200, done.text
    return str(browser.call("POST", "/tokens", {})["value"])


class Organiser:
    """A project of ctfcli with the ten challenges of ``event/``, and the command."""

    def __init__(self, commands: Path, folder: Path, platform: PlatformProcess, token: str) -> None:
        self.folder = folder
        self.platform = platform
        self._command = commands / "ctf"
        self._home = folder.with_name(f"{folder.name}-home")
        self._home.mkdir()
        shutil.copytree(Path(__file__).with_name("event"), folder)
        self.ctf("init", answers=f"{platform.base}\n{token}\n\ny\n")
        *first, last = CHALLENGES
        # As the command would write it, which takes a while to begin.
        with (folder / ".ctf" / "config").open("a") as config:
            config.writelines(f"{challenge} = {challenge}\n" for challenge in first)
        self.ctf("challenge", "add", last)
        self.commit()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin ``ctf …`` in the project; what it prints can be read from ``stdout``."""
        return subprocess.Popen(
            [self._command, *arguments],
            cwd=self.folder,
            env=self._environment(),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def ctf(self, *arguments: str, answers: str = "", status: int = 0) -> str:
        """``ctf …`` until its end, which must be of that *status*; what it printed."""
        with self.start(*arguments) as command:
            printed, _ = command.communicate(answers, timeout=DEADLINE)
        assert command.returncode == status, f"ctf {' '.join(arguments)} ended with {command.returncode}:\n{printed}"
        return printed

    def git(self, *arguments: str) -> str:
        """``git …`` in the project; what it printed."""
        return subprocess.run(
            ["git", *arguments], cwd=self.folder, env=self._environment(), check=True, capture_output=True, text=True
        ).stdout

    def commit(self) -> None:
        """Commit the project as it is."""
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", "as it is")

    @property
    def changed(self) -> str:
        """How the project differs from the last commit; nothing where it does not."""
        return self.git("status", "--porcelain") and self.git("diff")

    def edit(self, challenge: str, old: str, new: str) -> None:
        """Put *new* where *old* stands in the definition of a challenge."""
        definition = self.folder / challenge / "challenge.yml"
        text = definition.read_text()
        assert text.count(old) == 1, (old, text)
        definition.write_text(text.replace(old, new))

    def _environment(self) -> dict[str, str]:
        # The address is said with each command, because a platform that was started again listens elsewhere.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "CTFCLI_", "XDG_"))}
        author = {f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {**kept, **author, "HOME": str(self._home), "CTFCLI_URL": self.platform.base}


def install(organiser: Organiser) -> None:
    """Install everything. What a challenge names as its next is known once that is installed, so it takes a sync."""
    assert "All challenges installed" in organiser.ctf("challenge", "install")
    assert "All challenges synced" in organiser.ctf("challenge", "sync")


def mirror(organiser: Organiser) -> None:
    """Mirror, so that definitions name everything as the platform tells it, and commit."""
    assert "All challenges mirrored" in organiser.ctf("challenge", "mirror")
    organiser.commit()


def installed(admin: Person) -> dict[str, dict[str, Any]]:
    """Everything about every challenge, by its name: no ids and no places, which differ from one upload to the next."""
    listed = admin.call("GET", "/challenges?view=admin")
    names = {one["id"]: one["name"] for one in listed}
    return {one["name"]: _challenge(admin, one["id"], names) for one in listed}


def _challenge(admin: Person, challenge_id: int, names: dict[int, str]) -> dict[str, Any]:
    def parts(kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = admin.call("GET", f"/challenges/{challenge_id}/{kind}")
        return found

    detail = admin.call("GET", f"/challenges/{challenge_id}")
    kept = (
        "category",
        "description",
        "attribution",
        "type",
        "value",
        "state",
        "max_attempts",
        "connection_info",
        "logic",
    )
    hints = [hint["id"] for hint in parts("hints")]
    wanted = admin.call("GET", f"/challenges/{challenge_id}/requirements") or {}
    return {
        **{name: detail[name] for name in (*kept, "initial", "minimum", "decay", "function")},
        "next": names.get(detail["next_id"]),
        "requirements": {**wanted, "prerequisites": [names[one] for one in wanted.get("prerequisites", [])]},
        "flags": [(flag["type"], flag["content"], flag["data"]) for flag in parts("flags")],
        "tags": [tag["value"] for tag in parts("tags")],
        "topics": [topic["value"] for topic in parts("topics")],
        "hints": [
            (
                hint["title"],
                hint["content"],
                hint["cost"],
                [hints.index(one) for one in (hint["requirements"] or {}).get("prerequisites", [])],
            )
            for hint in parts("hints")
        ],
        "files": {_name(path): hashlib.sha1(admin.page(path).content).hexdigest() for path in detail["files"]},  # noqa: S324
        "solution": _solution(admin, challenge_id),
    }


def _solution(admin: Person, challenge_id: int) -> tuple[str, str] | None:
    for one in admin.call("GET", "/solutions"):
        if one["challenge_id"] == challenge_id:
            solution = admin.call("GET", f"/solutions/{one['id']}")
            return solution["state"], re.sub(r"/files/[0-9a-f]{32}/", "/files/…/", solution["content"])
    return None


def _name(path: str) -> str:
    return path.partition("?")[0].rsplit("/", 1)[1]
