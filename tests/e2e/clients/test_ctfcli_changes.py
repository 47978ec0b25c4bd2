"""ctfcli: only what differs is told and carried over; broken definitions are refused; what broke off is completed."""

from __future__ import annotations

import os
from pathlib import Path

from organiser import Organiser, install, installed, mirror, set_up
from running import Person, PlatformProcess, eventually

OUT_OF_SYNC = 2


def test_a_change_here_is_synced_and_a_change_there_is_mirrored(organiser: Organiser, admin: Person) -> None:
    install(organiser)
    mirror(organiser)
    before = installed(admin)
    organiser.edit("misc/sanity-check", "value: 50", "value: 75")
    organiser.edit("misc/sanity-check", "- event{hello}", "- event{hello}\n- event{hi}")
    organiser.edit("web/cookie-jar", "- dist/crumbs.txt\n", "")
    (organiser.folder / "web/cookie-jar/dist/jar.py").write_text("KEY = b'ask the other baker'\n")
    (organiser.folder / "forensics/unfinished/writeup/WRITEUP.md").write_text("Play it.\n")
    out = organiser.ctf("challenge", "verify", status=OUT_OF_SYNC)
    assert out.split("out of sync:")[1].split("- ")[1:] == ["Sanity check\n ", "Cookie jar\n"]
    organiser.ctf("challenge", "sync")
    after = installed(admin)
    assert {name for name in after if after[name] != before[name]} == {"Sanity check", "Cookie jar", "Unfinished"}
    assert (after["Sanity check"]["value"], after["Unfinished"]["solution"]) == (75, ("solved", "Play it.\n"))
    assert after["Sanity check"]["flags"] == [("static", "event{hello}", None), ("static", "event{hi}", None)]
    assert list(after["Cookie jar"]["files"]) == ["jar.py"]
    assert after["Cookie jar"]["files"]["jar.py"] != before["Cookie jar"]["files"]["jar.py"]
    mirror(organiser)

    ids = {one["name"]: one["id"] for one in admin.call("GET", "/challenges?view=admin")}
    admin.call("PATCH", f"/challenges/{ids['Slow burn']}", {"description": "Twenty now.", "decay": 20})
    admin.call("POST", "/tags", {"challenge_id": ids["Falling star"], "value": "sky"})
    out = organiser.ctf("challenge", "verify", status=OUT_OF_SYNC)
    assert out.split("out of sync:")[1].split("- ")[1:] == ["Slow burn\n ", "Falling star\n"]
    organiser.ctf("challenge", "mirror")
    assert sorted(
        line for line in organiser.changed.splitlines() if line[:2] in {"+ ", "+d"} or line[:4] == "+- s"
    ) == [
        "+  decay: 20",
        "+- sky",
        "+description: Twenty now.",
    ]
    assert "out of sync" not in organiser.ctf("challenge", "verify")


BROKEN = {
    "no value": ("value: 50", "", "missing required field: value"),
    "no category": ("category: misc", "", "missing required field: category"),
    "a file that is not there": (
        "hints:",
        "files:\n  - dist/gone.txt\n\nhints:",
        "dist/gone.txt' specified, but not found",
    ),
    "no YAML": ("tags:", "tags: [", "could not be loaded"),
}


def test_a_broken_definition_is_refused_and_changes_nothing(organiser: Organiser, admin: Person) -> None:
    organiser.ctf("challenge", "install", "misc/sanity-check")
    before, [listed] = installed(admin), admin.call("GET", "/challenges?view=admin")
    for old, new, said in BROKEN.values():
        organiser.edit("misc/sanity-check", old, new)
        assert said in organiser.ctf("challenge", "lint", "misc/sanity-check", status=1)
        organiser.git("checkout", "misc/sanity-check")
    organiser.edit("misc/sanity-check", "hints:", "files:\n  - dist/gone.txt\n\nhints:")
    organiser.edit("misc/sanity-check", "value: 50", "value: 5000")
    assert "could not be loaded" in organiser.ctf("challenge", "sync", "misc/sanity-check", status=1)
    organiser.edit("web/cookie-jar", "dist/crumbs.txt", "dist/gone.txt")
    assert "could not be loaded" in organiser.ctf("challenge", "install", "web/cookie-jar", status=1)
    assert (installed(admin), admin.call("GET", "/challenges?view=admin")) == (before, [listed])


def test_an_installation_during_which_the_platform_is_killed_is_completed_by_another(
    organiser: Organiser, admin: Person, clients: Path, tmp_path: Path
) -> None:
    # Where the command opens the second file of the second challenge it meets a pipe, and waits for us.
    crumbs = organiser.folder / "web/cookie-jar/dist/crumbs.txt"
    content = crumbs.read_bytes()
    crumbs.unlink()
    os.mkfifo(crumbs)
    with organiser.start("challenge", "install") as command:
        pipe = eventually(lambda: writing_end(crumbs), "the command opens the file")
        organiser.platform.kill()
        os.close(pipe)
        command.communicate()
    assert command.returncode != 0
    crumbs.unlink()
    crumbs.write_bytes(content)

    organiser.platform.start()
    half = installed(admin)
    assert [(name, one["state"], one["files"]) for name, one in half.items()] == [
        ("Sanity check", "visible", {}),
        ("Cookie jar", "hidden", {}),
    ]
    organiser.ctf("challenge", "install", "--force")
    organiser.ctf("challenge", "sync")
    (tmp_path / "other").mkdir()
    with PlatformProcess(tmp_path / "other") as other:
        token = set_up(other)
        install(Organiser(clients, tmp_path / "undisturbed", other, token))
        assert installed(admin) == installed(Person(other, token))


def writing_end(pipe: Path) -> int | None:
    """A descriptor to write to *pipe*; None while nobody reads from it."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None
