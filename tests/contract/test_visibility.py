"""Claims about everything that can be asked for: what is hidden leaks through nothing, what is frozen stands still."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest

from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing import Client, MemoryPlatform
from tests.contract.crawling import crawled, paths
from tests.contract.secrets import SecretEvent

DAY = timedelta(days=1)


class Place:
    """A platform with a secret event on it."""

    def __init__(self, mode: str) -> None:
        self.platform = MemoryPlatform().setup(mode, challenge_visibility="public", social_shares=True)
        before = self.platform.now - DAY
        self.event: SecretEvent = self.platform.run(
            lambda conn: SecretEvent(conn, before, teams=mode == "teams")
        )
        challenges = [self.event.open, self.event.second, self.event.hill, *self.event.known, *self.event.unknown, 999]
        users = [self.event.viewer[0], self.event.insider[0], *(user for user, _ in self.event.ghosts), 999]
        teams = [team for _, team in (self.event.viewer, self.event.insider, *self.event.ghosts) if team is not None]
        ids = [1, 2, *(number for number, what in self.event.told.ids.items() if what.startswith("hint"))]
        self.values = {
            "challenge_id": challenges,
            "user_id": users,
            "team_id": [*teams, 999],
            "hint_id": ids,
            "location": self.event.locations,
            "solution_id": range(1, 40),
            "count": [1, 50],
            "column": ["name", "email", "ip", "provided", "category"],
            "key": ["mail_password", "unheard"],
            "kind": ["solve"],
            **{name: [1, 2] for name in ONE_OR_TWO},
        }

    def viewers(self) -> dict[str, Client]:
        return {"anonymous": self.platform.client(), "player": self.platform.player("viewer")}


#: Parameters of which the first and the second that there can be will do.
ONE_OR_TWO = (
    "audience_id",
    "award_id",
    "bracket_id",
    "delivery_id",
    "endpoint_id",
    "field_id",
    "file_id",
    "flag_id",
    "link",
    "module_id",
    "notice_id",
    "page_id",
    "submission_id",
    "tag_id",
    "token_id",
    "topic_id",
    "type_name",
)


@pytest.fixture(scope="module", params=["users", "teams"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    place = Place(request.param)
    yield place
    place.platform.close()


@pytest.mark.parametrize("who", ["anonymous", "player"])
def test_no_answer_holds_a_secret(place: Place, who: str) -> None:
    told = place.event.told
    wanted = [*paths(place.platform, place.values)]
    found = set()
    for path, reply in crawled(place.viewers()[who], wanted).items():
        text = reply.text if "text" in reply.headers["content-type"] or "json" in reply.headers["content-type"] else ""
        text += repr(reply.headers)
        found |= {(path, told.texts[word]) for word in re.findall(r"zq\d{4}zq", text) if word not in path}
        found |= {
            (path, told.ids[int(number)])
            for number in re.findall(r"\b7000\d\d\b", text)
            if int(number) in told.ids and number not in path
        }
    assert sorted(found) == []
