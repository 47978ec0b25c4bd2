"""GET /events: what listeners are sent, and what they can cost."""

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest
from sqlalchemy import Connection

from ctfd_twisted.content.tables import notifications
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.live import hub as hubs
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.live.stream import QUEUE, SILENCE
from ctfd_twisted.testing import MemoryPlatform
from tests.unit.live.ear import PING, Ear

NOTICES = "/api/v1/notifications"


def told(text: str) -> list[int]:
    """The ids of the notifications in *text*."""
    return [
        json.loads(data.removeprefix("data:"))["id"]
        for event, data in pairwise(text.split("\n"))
        if event == "event:notification"
    ]


class TestStream:
    """What is sent."""

    def test_a_ping_at_once_and_every_five_seconds(self, platform: MemoryPlatform) -> None:
        ear = Ear(platform, platform.player("ann"))
        assert ear.status == 200
        assert ear.headers["content-type"] == "text/event-stream"
        assert ear.headers["x-accel-buffering"] == "no"
        assert ear.headers["cache-control"] == "no-cache"
        assert "content-length" not in ear.headers
        assert ear.news() == PING
        for _ in range(60):
            platform.clock.advance(5)
            assert ear.news() == PING
        assert not ear.complete

    def test_a_notification_as_it_was_answered_and_a_ping(self, platform: MemoryPlatform) -> None:
        ears = [Ear(platform, platform.player(name)) for name in ("ann", "ben")]
        made = platform.admin().post(NOTICES, {"title": "t", "content": "**c**", "type": "toast", "sound": False})
        for ear in ears:
            event, data, *rest = ear.news().removeprefix(PING).split("\n")
            assert event == "event:notification"
            assert data.startswith('data:{"id":1,')
            assert json.loads(data.removeprefix("data:")) == made.data
            assert "\n".join(rest) == "\n" + PING

    def test_what_was_before_is_not_told(self, platform: MemoryPlatform) -> None:
        platform.admin().post(NOTICES, {"title": "before"})
        assert Ear(platform, platform.player("ann")).news() == PING

    def test_an_id_that_was_given_away_again_is_told(self, platform: MemoryPlatform) -> None:
        ear, admin = Ear(platform, platform.player("ann")), platform.admin()
        admin.post(NOTICES, {})
        admin.delete(f"{NOTICES}/1")
        admin.post(NOTICES, {})
        assert told(ear.news()) == [1, 1]

    def test_what_another_program_adds_is_told_as_an_alert(self, platform: MemoryPlatform) -> None:
        ear = Ear(platform, platform.player("ann"))

        def add(conn: Connection) -> None:
            insert_row(conn, notifications, {"title": "elsewhere", "date": platform.now})
            touch(conn, EVERYTHING)

        platform.run(add)
        text = ear.news()
        assert told(text) == [1]
        assert '"type":"alert","sound":true' in text

    def test_other_commits_tell_nothing(self, platform: MemoryPlatform) -> None:
        ear = Ear(platform, platform.player("ann"))
        platform.configure(ctf_name="Other")
        assert ear.news() == PING

    def test_head_has_no_stream(self, platform: MemoryPlatform) -> None:
        ear = Ear(platform, platform.player("ann"), method="HEAD")
        assert (ear.status, ear.headers["content-type"], ear.body) == (200, "text/event-stream", "")


class TestWhoListens:
    """Only who is logged in."""

    @pytest.mark.parametrize(
        "headers",
        [{"Accept": "text/event-stream"}, {"Accept": "text/html;q=0.5, text/event-stream"},
         {"Content-Type": "application/json"}],
    )  # fmt: skip
    def test_a_program_is_refused_by_a_page(self, platform: MemoryPlatform, headers: dict[str, str]) -> None:
        ear = Ear(platform, headers=headers)
        assert (ear.status, ear.headers["content-type"]) == (403, "text/html; charset=utf-8")

    @pytest.mark.parametrize("headers", [{}, {"Accept": "*/*"}, {"Accept": "text/html, text/event-stream;q=0.9"}])
    def test_a_browser_is_led_to_the_login(self, platform: MemoryPlatform, headers: dict[str, str]) -> None:
        ear = Ear(platform, headers=headers)
        assert (ear.status, ear.headers["location"]) == (302, "/login?next=%2Fevents%3F")

    def test_150_requests_a_minute(self, platform: MemoryPlatform) -> None:
        ann = platform.player("ann")
        statuses = [Ear(platform, ann, method="HEAD").status for _ in range(151)]
        assert statuses[149:] == [200, 429]
        platform.clock.advance(60)
        assert Ear(platform, ann, method="HEAD").status == 200


class TestOff:
    """A deployment that has turned events off."""

    @pytest.fixture
    def silent(self) -> Iterator[MemoryPlatform]:
        """A platform without events."""
        platform = MemoryPlatform(server_sent_events=False).setup()
        yield platform
        platform.close()

    def test_who_would_listen_is_told_not_to_ask_again(self, silent: MemoryPlatform) -> None:
        for client in (silent.player("ann"), silent.admin()):
            answer = client.get("/events")
            assert (answer.status, answer.body) == (204, b"")
            assert "content-length" not in answer.headers

    def test_strangers_are_still_sent_to_the_login(self, silent: MemoryPlatform) -> None:
        assert silent.client().get("/events").location == "/login?next=%2Fevents%3F"
        assert silent.client().get("/events", headers={"Accept": "text/event-stream"}).status == 403

    def test_notifications_are_read_as_ever(self, silent: MemoryPlatform) -> None:
        silent.admin().post("/api/v1/notifications", {"title": "hello"})
        assert [one["title"] for one in silent.client().get("/api/v1/notifications").data] == ["hello"]


class TestBounds:
    """What listeners can cost."""

    def test_so_many_of_one_player(self, platform: MemoryPlatform) -> None:
        ann = platform.player("ann")
        ears = [Ear(platform, ann) for _ in range(hubs.OF_A_PLAYER)]
        refused = Ear(platform, ann)
        assert (refused.status, refused.headers["retry-after"]) == (429, "5")
        assert Ear(platform, platform.player("ben")).status == 200
        ears[0].leave()
        assert Ear(platform, ann).status == 200

    def test_so_many_of_one_address_and_of_all(self, platform: MemoryPlatform, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hubs, "OF_AN_ADDRESS", 2)
        monkeypatch.setattr(hubs, "OF_A_NODE", 3)
        players = [platform.player(name) for name in ("ann", "ben", "cy", "dee")]
        assert [Ear(platform, player).status for player in players[:3]] == [200, 200, 429]
        assert [Ear(platform, player, address="192.0.2.2").status for player in players[2:]] == [200, 503]

    def test_who_has_left_is_forgotten(self, platform: MemoryPlatform, hub: Hub) -> None:
        Ear(platform, platform.player("ann")).leave()
        assert not list(hub.streams())
        assert not hub._players
        assert not hub._addresses

    def test_who_reads_slowly_gets_it_later(self, platform: MemoryPlatform) -> None:
        ear, admin = Ear(platform, platform.player("ann")), platform.admin()
        ear.stop_reading()
        ear.news()
        for _ in range(QUEUE):
            admin.post(NOTICES, {})
        platform.clock.advance(5)
        assert ear.news() == ""
        ear.read_on()
        assert told(ear.news()) == list(range(1, QUEUE + 1))
        admin.post(NOTICES, {})
        assert told(ear.news()) == [QUEUE + 1]

    def test_who_falls_too_far_behind_is_cut_off(self, platform: MemoryPlatform) -> None:
        ear, admin = Ear(platform, platform.player("ann")), platform.admin()
        other = Ear(platform, platform.player("ben"))
        ear.stop_reading()
        for _ in range(QUEUE + 1):
            admin.post(NOTICES, {})
        assert ear.transport.disconnecting
        assert len(told(other.news())) == QUEUE + 1

    def test_who_reads_nothing_for_half_a_minute_is_cut_off(self, platform: MemoryPlatform) -> None:
        ear = Ear(platform, platform.player("ann"))
        ear.stop_reading()
        platform.clock.pump([5] * (SILENCE[True] - 1))
        assert not ear.transport.disconnecting
        platform.clock.advance(5)
        assert ear.transport.disconnecting


class TestTheEnd:
    """The node stops."""

    def test_streams_end_in_good_order(self, platform: MemoryPlatform, hub: Hub) -> None:
        ann = platform.player("ann")
        ear, slow = Ear(platform, ann), Ear(platform, ann)
        slow.stop_reading()
        hub.stopService()
        assert ear.complete
        assert slow.transport.disconnecting
        assert Ear(platform, ann).status == 503
        slow.leave()
        assert not list(hub.streams())

    def test_a_service_that_ran_before_runs_again(self, platform: MemoryPlatform, hub: Hub) -> None:
        hub.stopService()
        hub.startService()
        ear = Ear(platform, platform.player("ann"))
        platform.clock.advance(5)
        assert ear.news() == PING + PING
