"""Claims about the stream of events over a real connection."""

import signal
from pathlib import Path

import requests
from running import DEADLINE, Person, PlatformProcess

PING = b"event:ping\ndata:ping\n\n"


def test_a_listener_hears_until_the_node_stops(tmp_path: Path) -> None:
    with PlatformProcess(tmp_path, None, "--roles", "web") as platform:
        person = Person(platform)
        person.submit(
            "/setup", ctf_name="Live", name="admin", email="a@example.org", password="a password", user_mode="users"
        )
        admin = Person(platform, str(person.call("POST", "/tokens", {})["value"]))
        asked = {"Authorization": admin._session.headers["Authorization"], "Content-Type": "application/json"}
        with requests.get(f"{platform.base}/events", headers=asked, stream=True, timeout=DEADLINE) as stream:
            pieces = stream.iter_content(None)
            assert next(pieces) == PING
            made = admin.call("POST", "/notifications", {"title": "hello"})
            told = next(pieces)
            assert told.startswith(f'event:notification\ndata:{{"id":{made["id"]},"title":"hello",'.encode())
            assert told.endswith(PING)
            platform.process.terminate()
            # The answer ends as one that is complete: requests would raise for one that was cut off.
            assert set(pieces) <= {PING}
        assert platform.process.wait(DEADLINE) in {0, -signal.SIGTERM}
        assert "stopped with" not in platform.printed
        assert "Traceback" not in platform.printed
