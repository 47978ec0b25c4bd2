"""The pages of administrators."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.koth.tables import hills, ticks
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_user
from ctfd_twisted.webhooks.tables import attempts, deliveries, endpoints, events

PATHS = ("/admin/statistics", "/admin/koth", "/admin/koth/new", "/admin/koth/1", "/admin/webhooks", "/admin/webhooks/1")


def a_hill(platform: MemoryPlatform, **state: object) -> int:
    def store(conn: Connection) -> int:
        number = a_challenge(conn, name="<Lighthouse>", type="koth", category="hills")
        settings = {"url": "http://agent.example:31337/status", "interval": 60, "reward": 7, "api_key": "k3y"}
        challenge_types()["koth"].create(conn, platform.now, number, settings)
        if state:
            conn.execute(update(hills).values(**state))
        touch(conn, EVERYTHING)
        return number

    return int(platform.run(store))


def a_tick(platform: MemoryPlatform, hill: int, number: int, outcome: str) -> None:
    def store(conn: Connection) -> None:
        due = platform.now + timedelta(minutes=number)
        evidence = [{"step": "claim", "status": 200, "latency_ms": 3, "body": "<raw>"}]
        values = {"challenge_id": hill, "tick": number, "due": due, "outcome": outcome, "points": 0}
        conn.execute(ticks.insert().values(**values, detail=f"why {outcome}", answers=evidence))

    platform.run(store)


def an_endpoint(platform: MemoryPlatform, **columns: object) -> None:
    def store(conn: Connection) -> None:
        values = {"url": "https://hook.example/in", "events": ["user.created"], "standard_webhooks": False}
        state = {"state": "pending", "created": platform.now, "failures": 0}
        conn.execute(endpoints.insert().values(**{**values, **state, **columns}))

    platform.run(store)


@pytest.mark.parametrize("path", PATHS)
def test_they_are_for_administrators_alone(platform: MemoryPlatform, path: str) -> None:
    assert platform.client().get(path).location.startswith("/login?next=")
    assert platform.player("alice").get(path).status == 403


def test_the_way_in_depends_on_who_comes(platform: MemoryPlatform) -> None:
    assert platform.client().get("/admin").location == "/login"
    assert platform.player("alice").get("/admin").location == "/login"
    assert platform.admin().get("/admin").location == "/admin/statistics"


def test_statistics_count_what_is_there(platform: MemoryPlatform) -> None:
    def store(conn: Connection) -> None:
        easy = a_challenge(conn, name="easy", value=50)
        a_challenge(conn, name="hard", value=500)
        a_challenge(conn, name="draft", state="hidden")
        a_solve(conn, easy, a_user(conn))
        a_solve(conn, easy, a_user(conn, hidden=True))
        touch(conn, EVERYTHING)

    platform.run(store)
    text = platform.admin().get("/admin/statistics").text
    assert "<dt>Points to win</dt><dd>550</dd>" in text
    assert "<dt>Right answers</dt><dd>2</dd>" in text
    assert text.index(">easy<") < text.index(">hard<")
    assert ">draft<" not in text


def test_a_hill_that_has_failed_for_long_is_told(platform: MemoryPlatform) -> None:
    number = a_hill(platform, failures=25, last_outcome="unreachable")
    for path in ("/admin/statistics", "/admin/koth"):
        text = platform.admin().get(path).text
        assert f'<a href="/admin/koth/{number}">&lt;Lighthouse&gt;</a> has not answered for 25 ticks in a row' in text


def test_the_list_shows_the_last_ticks_of_each_hill(platform: MemoryPlatform) -> None:
    hill = a_hill(platform, running=True, last_outcome="unreachable")
    for number, outcome in enumerate(("held", "unclaimed", "unreachable")):
        a_tick(platform, hill, number, outcome)
    text = platform.admin().get("/admin/koth").text
    assert text.index('title="0: held"') < text.index('title="1: unclaimed"') < text.index('title="2: unreachable"')


def test_a_hill_shows_its_settings_and_its_ticks(platform: MemoryPlatform) -> None:
    hill = a_hill(platform)
    a_tick(platform, hill, 0, "held")
    a_tick(platform, hill, 1, "tls_error")
    admin = platform.admin()
    text = admin.get(f"/admin/koth/{hill}").text
    assert 'name="api_key" type="text" data-kind="text" value="k3y"' in text
    assert "why held" in text
    assert "&lt;raw&gt;" in text
    filtered = admin.get(f"/admin/koth/{hill}?outcome=tls_error").text
    assert "why held" not in filtered
    assert "why tls_error" in filtered
    assert admin.get("/admin/koth/99").status == 404


def test_the_form_of_a_hill_asks_for_every_setting_of_its_kind(platform: MemoryPlatform) -> None:
    text = platform.admin().get("/admin/koth/new").text
    for field in challenge_types()["koth"].form_fields:
        assert f'name="{field.name}"' in text
    for name in ("name", "category", "description", "connection_info", "state"):
        assert f'name="{name}"' in text


def test_webhooks_show_state_and_what_went_wrong(platform: MemoryPlatform) -> None:
    an_endpoint(platform, last_error="The receiver answered <404>.")
    admin = platform.admin()
    text = admin.get("/admin/webhooks").text
    assert '<span class="state wait">pending</span>' in text
    assert "The receiver answered &lt;404&gt;." in text
    secret = admin.get("/api/v1/webhooks/secret").data["secret"]
    assert f"<code>{secret}</code>" in text
    assert "webhook <a" not in admin.get("/admin/statistics").text


def test_a_disabled_webhook_is_told(platform: MemoryPlatform) -> None:
    an_endpoint(platform, state="disabled", last_error="The receiver answered 410 Gone.")
    text = platform.admin().get("/admin/statistics").text
    assert 'webhook <a href="/admin/webhooks/1">https://hook.example/in</a> is disabled' in text


def test_a_delivery_shows_every_attempt(platform: MemoryPlatform) -> None:
    an_endpoint(platform)

    def deliver(conn: Connection) -> None:
        conn.execute(events.insert().values(seq=1, event="user.created", body=b'{"id": 7}', created=platform.now))
        state = {"state": "dead", "attempts": 1, "last_status": 500, "created": platform.now}
        conn.execute(deliveries.insert().values(id="one", endpoint_id=1, seq=1, **state))
        what = {"number": 1, "started": platform.now, "latency_ms": 31, "request_headers": [["Host", "hook.example"]]}
        conn.execute(attempts.insert().values(delivery_id="one", **what, status=500, error="<oops>", answer=b"<b>no"))

    platform.run(deliver)
    admin = platform.admin()
    assert 'href="/admin/webhooks/1/deliveries/one"' in admin.get("/admin/webhooks/1?state=dead").text
    assert "deliveries/one" not in admin.get("/admin/webhooks/1?state=delivered").text
    text = admin.get("/admin/webhooks/1/deliveries/one").text
    for shown in ("{&#34;id&#34;: 7}", "Host: hook.example", "&lt;oops&gt;", "&lt;b&gt;no", "31 ms"):
        assert shown in text
    assert admin.get("/admin/webhooks/1/deliveries/none").status == 404
