"""docs/webhooks.md says what is so."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ctfd_twisted.webhooks.api import WebhookApi
from ctfd_twisted.webhooks.delivery_api import DeliveryApi
from ctfd_twisted.webhooks.events import EXAMPLES, Event
from ctfd_twisted.webhooks.rules import WAITS
from ctfd_twisted.webhooks.signatures import digest_matches, event_headers, signature

PAGE = (Path(__file__).parents[3] / "docs/webhooks.md").read_text()
UNITS = {"second": 1, "minute": 60, "hour": 3600}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.NAME)
def test_each_event_has_a_section_with_its_example(example: Event) -> None:
    section = re.search(rf"^### `{re.escape(example.NAME)}`\n(.*?)^##", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    block = re.search(r"```json\n(.*?)```", section[1], re.DOTALL)
    assert block is not None
    shown: dict[str, Any] = msgspec.json.decode(block[1])
    assert list(shown.items()) == list(msgspec.json.decode(example.body()).items())


def test_the_table_of_retries_is_the_schedule() -> None:
    rows = re.findall(r"^\| (\d+) \| (\d+) (second|minute|hour)s? \|$", PAGE, re.MULTILINE)
    assert tuple(int(number) * UNITS[unit] for _, number, unit in rows) == WAITS
    assert [int(attempt) for attempt, _, _ in rows] == list(range(1, len(WAITS) + 1))
    assert f"| {len(WAITS) + 1} | never" in PAGE


def snippets() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        if "def " in code:
            exec(code, names)  # noqa: S102 - what receivers are told to write
    return names


def test_the_code_of_the_validation_validates() -> None:
    answer = snippets()["validation"]("secret", "token")
    assert digest_matches(["secret"], "token", answer["response"])


def test_the_code_that_verifies_accepts_what_is_genuine_and_nothing_else() -> None:
    is_genuine, now = snippets()["is_genuine"], int(time.time())
    header = signature(["new", "old"], now, b"{}")
    assert is_genuine("new", header, b"{}")
    assert is_genuine("old", header, b"{}")
    assert not is_genuine("other", header, b"{}")
    assert not is_genuine("new", header, b"{} ")
    assert not is_genuine("new", signature(["new"], now - 301, b"{}"), b"{}")


def test_every_header_is_in_the_table() -> None:
    headers = event_headers(
        "Service-Webhook", ["s"], event="ping", delivery_id="whd_1", timestamp=1, body=b"", standard=False
    )
    for name, _ in headers:
        assert f"| `{name}` |" in PAGE


def test_every_route_is_in_the_table() -> None:
    for api in (WebhookApi, DeliveryApi):
        for route in api.routes._routes:
            path = route.path.replace("<int:endpoint_id>", "<id>").replace("<delivery_id>", "<delivery id>")
            assert re.search(rf"^\| .*`?{route.method}\b[^|]*{re.escape(path)}` \|", PAGE, re.MULTILINE), route
