"""Moving day: the platform is started on databases that CTFd 3.8.7 wrote, and the event goes on."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from itsdangerous import URLSafeTimedSerializer
from running import Person, PlatformProcess, eventually
from sqlalchemy import Engine, create_engine, inspect, text

from ctfd_twisted.accounts import passwords

#: Over HTTP sign in an ordinary player, a hidden one, a banned one, and one of the last team.
SIGNING_IN = ("player0", "player3", "player4", "player11")
BANNED = "player4"

Contents = dict[str, dict[Any, dict[str, Any]]]


@pytest.fixture
def engine(ctfd_event: Any) -> Iterator[Engine]:
    """An engine on the same database, without anything that the platform's connections do."""
    opened = create_engine(ctfd_event.url)
    yield opened
    opened.dispose()


@pytest.fixture
def before(engine: Engine) -> Contents:
    """What CTFd left."""
    return contents(engine)


@pytest.fixture
def platform(ctfd_event: Any, before: Contents, tmp_path: Path) -> Iterator[PlatformProcess]:
    """The platform on CTFd's database, with CTFd's secret key."""
    assert before
    with PlatformProcess(tmp_path, ctfd_event.url, SECRET_KEY=ctfd_event.secret_key) as running:
        yield running


def contents(engine: Engine) -> Contents:
    """Every row of CTFd's tables by table and primary key, as the driver gives it."""
    with engine.connect() as conn:
        names = [name for name in inspect(conn).get_table_names() if not name.startswith("ctfp_")]
        return {
            name: {row[0]: dict(row._mapping) for row in conn.execute(text(f"SELECT * FROM {name}"))}  # noqa: S608 - a name from the database
            for name in names
        }


def asked(engine: Engine, question: str, **values: object) -> Any:
    """The first row that *question* finds."""
    with engine.connect() as conn:
        return conn.execute(text(question), values).one()


def signed_in(platform: PlatformProcess, name: str, password: str) -> Person:
    """A browser after the form of ``/login`` was sent in it."""
    person = Person(platform)
    done = person.submit("/login", name=name, password=password)
    assert [hop.headers["Location"] for hop in done.history][:1] == ["/challenges"], done.text
    return person


def test_everybody_signs_in_with_their_old_password(
    ctfd_event: Any, platform: PlatformProcess, before: Contents
) -> None:
    stored = {row["name"]: row["password"] for row in before["users"].values()}
    known = {**dict(ctfd_event.players), ctfd_event.admin[0]: ctfd_event.admin[1]}
    assert set(stored) == set(known)
    admin = signed_in(platform, *ctfd_event.admin)
    assert admin.call("GET", "/users/me")["name"] == ctfd_event.admin[0]
    assert admin.page("/admin/statistics").status_code == 200
    for name in SIGNING_IN:
        player = signed_in(platform, name, known[name])
        if name == BANNED:
            assert "You have been banned from this CTF" in player.page("/challenges").text
        else:
            assert player.call("GET", "/users/me")["name"] == name
    refused = Person(platform).submit("/login", name="player1", password=known["player0"])
    assert "Your username or password is incorrect" in refused.text
    others = [name for name in known if name not in {ctfd_event.admin[0], *SIGNING_IN}]
    with ThreadPoolExecutor(2) as pool:
        fitting = pool.map(passwords.verify, [known[name] for name in others], [stored[name] for name in others])
        assert dict(zip(others, fitting, strict=True)) == dict.fromkeys(others, True)


def test_a_token_works_on_and_its_value_leaves_the_database(
    ctfd_event: Any, platform: PlatformProcess, engine: Engine
) -> None:
    value = ctfd_event.admin_token
    admin = Person(platform, value)
    assert admin.call("GET", "/users/me")["name"] == ctfd_event.admin[0]

    def hidden() -> bool:
        return bool(asked(engine, "SELECT value FROM tokens").value != value)

    eventually(hidden, "the clear value is replaced")
    assert asked(engine, "SELECT value FROM tokens").value == f"sha256${hashlib.sha256(value.encode()).hexdigest()}"
    assert admin.call("GET", "/tokens/1")["description"] == "for the test data"
    assert platform.stop() in {0, -15}
    platform.start()
    assert admin.call("GET", "/users/me")["name"] == ctfd_event.admin[0]


def test_the_board_and_the_challenges_are_what_ctfd_showed(ctfd_event: Any, platform: PlatformProcess) -> None:
    board = Person(platform).call("GET", "/scoreboard")
    assert [[row["pos"], row["name"], row["score"]] for row in board] == ctfd_event.scoreboard
    listed = Person(platform, ctfd_event.admin_token).call("GET", "/challenges?view=admin")
    assert {row["id"]: row["value"] for row in listed} == ctfd_event.values
    assert {row["id"]: row["solves"] for row in listed} == ctfd_event.solves


def test_the_event_goes_on_and_nothing_else_changes(
    ctfd_event: Any, platform: PlatformProcess, engine: Engine, before: Contents
) -> None:
    name, password = ctfd_event.players[0]
    account = "team_id" if ctfd_event.mode == "teams" else "user_id"
    user = asked(engine, "SELECT id AS user_id, team_id FROM users WHERE name = :name", name=name)
    found = asked(
        engine,
        "SELECT challenges.id, challenges.value, flags.content FROM challenges "  # noqa: S608 - one of our two columns
        "JOIN flags ON flags.challenge_id = challenges.id AND flags.type = 'static' "
        "WHERE challenges.type = 'standard' AND state = 'visible' AND requirements IS NULL AND challenges.id NOT IN "
        f"(SELECT challenge_id FROM solves WHERE {account} = :account) ORDER BY challenges.id LIMIT 1",
        account=getattr(user, account),
    )
    player = signed_in(platform, name, password)
    attempt = {"challenge_id": found.id, "submission": found.content}
    assert player.call("POST", "/challenges/attempt", attempt)["status"] == "correct"
    assert player.call("POST", "/challenges/attempt", attempt)["status"] == "already_solved"
    known = {row["id"]: row for row in Person(platform, ctfd_event.admin_token).call("GET", "/challenges?view=admin")}
    assert known[found.id]["solves"] == ctfd_event.solves[found.id] + 1
    own = "Team 0" if ctfd_event.mode == "teams" else name
    scores = {row["name"]: row["score"] for row in player.call("GET", "/scoreboard")}
    assert scores == {who: score + (found.value if who == own else 0) for _, who, score in ctfd_event.scoreboard}
    assert platform.stop() in {0, -15}

    after = contents(engine)
    assert set(after) == set(before)
    new = {table: [row for key, row in rows.items() if key not in before[table]] for table, rows in after.items()}
    (solve,) = new.pop("solves")
    assert (solve["challenge_id"], solve["user_id"], solve["team_id"]) == (found.id, user.user_id, user.team_id)
    assert {(row["user_id"], row["type"]) for row in new.pop("submissions")} == {(user.user_id, "correct")}
    assert {row["user_id"] for row in new.pop("tracking")} <= {user.user_id, 1}
    assert not any(new.values()), new
    changed = {
        (table, column)
        for table, rows in before.items()
        for key, row in rows.items()
        for column, value in row.items()
        if after[table][key][column] != value
    }
    assert changed <= {("tracking", "date"), ("tokens", "value")}


def test_what_ctfd_signed_still_counts(ctfd_event: Any, platform: PlatformProcess, before: Contents) -> None:
    serializer = URLSafeTimedSerializer(ctfd_event.secret_key)
    admin = Person(platform, ctfd_event.admin_token)
    challenge_id = min(row["challenge_id"] for row in before["files"].values())
    (link,) = admin.call("GET", f"/challenges/{challenge_id}")["files"]
    claimed = serializer.loads(parse_qs(urlsplit(link).query)["token"][0])
    assert (claimed["user_id"], before["files"][claimed["file_id"]]["challenge_id"]) == (1, challenge_id)
    if ctfd_event.mode == "users":
        return
    team = before["teams"][3]
    key = (ctfd_event.secret_key + team["password"]).encode()
    mac = hmac.new(key, b"3", hashlib.sha1).hexdigest()
    browser = signed_in(platform, *ctfd_event.admin)
    shown = browser.page(f"/teams/invite?code={serializer.dumps({'id': 3, 'v': mac})}")
    assert shown.status_code == 200
    assert team["name"] in shown.text
    refused = browser.page(f"/teams/invite?code={serializer.dumps({'id': 4, 'v': mac})}")
    assert (refused.status_code, "This invite URL is invalid" in refused.text) == (403, True)
