"""ctfcli: pages, media and the competition's settings, each there and back."""

from __future__ import annotations

import configparser
import hashlib
from typing import Any

import requests
from organiser import Organiser
from running import Person

RULES = """---
route: rules/general
title: The rules
draft: false
hidden: false
auth_required: true
---

# The rules

Be kind. The map: ![map]({media/map.svg})

| do     | don't |
|--------|-------|
| attack | us    |
"""
MAP = b"<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0h9v9z'/></svg>\r\n"


def test_pages_are_pushed_synced_and_pulled(organiser: Organiser, admin: Person) -> None:
    rules = organiser.folder / "pages" / "rules" / "general.md"
    rules.parent.mkdir(parents=True)
    rules.write_text(RULES.replace(" The map: ![map]({media/map.svg})", ""))
    (organiser.folder / "pages" / "thanks.html").write_text(
        "---\nroute: thanks\ntitle: Thanks\n---\n<p>To everybody.</p>\n"
    )
    assert organiser.ctf("pages", "push").count("Successfully pushed page") == 2
    assert "remote version exists" in organiser.ctf("pages", "push", "thanks.html", status=1)
    pages = {page["route"]: page for page in admin.call("GET", "/pages")}
    told = admin.call("GET", f"/pages/{pages['rules/general']['id']}")
    assert (told["title"], told["format"], told["auth_required"], told["hidden"]) == (
        "The rules",
        "markdown",
        True,
        False,
    )
    assert told["content"].startswith("# The rules\n\nBe kind.\n")
    organiser.commit()
    # The page that the setup has made is pulled too; ours come back as they were sent.
    organiser.ctf("pages", "pull", "--force")
    organiser.git("add", ".")
    organiser.git("commit", "--quiet", "--message", "pulled")
    before = pages_of(admin)
    organiser.ctf("pages", "sync")
    organiser.ctf("pages", "pull", "--force")
    assert organiser.changed == ""
    assert pages_of(admin) == before


def pages_of(admin: Person) -> list[dict[str, Any]]:
    """Every page as it is, save for an end of line at its end, which the command drops."""
    pages = [admin.call("GET", f"/pages/{page['id']}") for page in admin.call("GET", "/pages")]
    return [{**page, "content": page["content"].rstrip()} for page in pages]


def test_media_are_added_named_in_pages_and_removed(organiser: Organiser, admin: Person) -> None:
    (organiser.folder / "map.svg").write_bytes(MAP)
    organiser.ctf("media", "add", "map.svg")
    url = organiser.ctf("media", "url", "media/map.svg").strip()
    assert url.startswith(f"{organiser.platform.base}/files/")
    assert requests.get(url, timeout=20).content == MAP
    [listed] = admin.call("GET", "/files?type=page")
    assert listed["sha1sum"] == hashlib.sha1(MAP).hexdigest()  # noqa: S324 - what CTFd tells

    (organiser.folder / "pages").mkdir(exist_ok=True)
    (organiser.folder / "pages" / "rules.md").write_text(RULES)
    organiser.ctf("pages", "push", "rules.md")
    told = [admin.call("GET", f"/pages/{page['id']}") for page in admin.call("GET", "/pages")]
    assert f"![map](/files/{listed['location']})" in next(one["content"] for one in told if one["title"] == "The rules")

    organiser.ctf("media", "rm", "media/map.svg")
    assert admin.call("GET", "/files?type=page") == []
    assert requests.get(url, timeout=20).status_code == 404


def test_settings_are_pulled_changed_and_pushed(organiser: Organiser, admin: Person) -> None:
    def settings() -> dict[str, object]:
        return {one["key"]: one["value"] for one in admin.call("GET", "/configs")}

    before = settings()
    assert None in before.values()
    organiser.ctf("instance", "config", "pull")
    pulled = configparser.ConfigParser()
    pulled.read(organiser.folder / ".ctf" / "config")
    assert pulled["instance"]["ctf_name"] == "The event"
    # The command writes None for what is not set, and sends that. The platform goes on as if it were not set.
    organiser.ctf("instance", "config", "push")
    assert settings() == {key: "None" if value is None else value for key, value in before.items()}
    assert Person(organiser.platform).page("/").status_code == 200
    for path in ("/challenges", "/scoreboard", "/users", "/users/me", "/statistics/users", "/notifications"):
        admin.call("GET", path)
    # The next round turns None into null, and null into nothing.
    organiser.ctf("instance", "config", "pull")
    organiser.ctf("instance", "config", "push")
    assert settings() == before

    assert "'ctf_name' to 'Another event'" in organiser.ctf("instance", "config", "set", "ctf_name", "Another event")
    assert organiser.ctf("instance", "config", "get", "ctf_name").strip() == "Another event"
    assert settings() == {**before, "ctf_name": "Another event"}
