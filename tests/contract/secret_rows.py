"""Rows of a secret event: what hangs on one challenge, and what must not be told of it."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import Any

from sqlalchemy import Connection

from ctfd_twisted.challenges.tables import challenge_topics, challenges, files, ratings, solutions, tags, topics
from ctfd_twisted.content.tables import comments
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.scoring.tables import unlocks
from ctfd_twisted.testing.builders import a_flag, a_hint, a_solve, a_submission, an_award
from ctfd_twisted.testing.hills import a_hill

#: A user's id, and that of their team where teams play.
Person = tuple[int, int | None]

#: Ids from here on are of what nobody may know of.
SECRET_IDS = 700_001


class Told:
    """The texts and ids that must not be told, each with what it is."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.ids: dict[int, str] = {}
        self._numbers = count(1)
        self._ids = count(SECRET_IDS)
        #: Ids of what may be known; given, because a database goes on from the highest one.
        self.plain = count(1)

    def text(self, what: str) -> str:
        """A text that occurs nowhere else."""
        text = f"zq{next(self._numbers):04}zq"
        self.texts[text] = what
        return text

    def id(self, what: str) -> int:
        """An id that no other number is like."""
        number = next(self._ids)
        self.ids[number] = what
        return number


class SecretRows:
    """Adds rows as of *before* whose texts are told to nobody; ``insider`` is who has done everything."""

    insider: Person

    def __init__(self, conn: Connection, before: datetime) -> None:
        self.told = Told()
        self._conn, self._before = conn, before
        self.locations: list[str] = []
        self.solutions: list[int] = []

    def _parts(
        self, challenge: int, kind: str, *, hint: dict[str, Any], solution: str, shown: tuple[str, ...] = ()
    ) -> None:
        """Everything that a challenge can have: flags, a hint that was paid for, a solution, files, opinions."""
        conn, text = self._conn, self.told.text
        a_flag(conn, challenge, text(f"flag of {kind}"), data=text(f"data of a flag of {kind}"))
        a_flag(conn, challenge, text(f"regex of {kind}"), type="regex")
        content = text(f"hint of {kind}") if kind != "locked" else "locked"
        hint_id = a_hint(conn, challenge, **{"id": next(self.told.plain), "cost": 5, "content": content, **hint})
        self._pay(challenge, hint_id)
        self._hand_out(challenge, kind, solution, shown)
        self._judge(challenge, kind)

    def _pay(self, challenge: int, hint_id: int) -> None:
        conn = self._conn
        name = conn.execute(challenges.select().where(challenges.c.id == challenge)).one().name
        self._award(self.insider, -5, name=f"Hint {hint_id}", description=f"Hint for {name}", category="hints")
        row = {"user_id": self.insider[0], "team_id": self.insider[1], "type": "hints", "target": hint_id}
        insert_row(conn, unlocks, {**row, "date": self._before})

    def _hand_out(self, challenge: int, kind: str, solution: str, shown: tuple[str, ...]) -> None:
        conn, text = self._conn, self.told.text
        body = {"challenge_id": challenge, "content": text(f"solution of {kind}"), "state": solution}
        solved_by = insert_row(conn, solutions, body)
        self.solutions.append(solved_by)
        tag = "tag" if "tag" in shown else text(f"tag of {kind}")
        insert_row(conn, tags, {"challenge_id": challenge, "value": tag})
        topic = insert_row(conn, topics, {"value": text(f"topic of {kind}")})
        insert_row(conn, challenge_topics, {"challenge_id": challenge, "topic_id": topic})
        if "file" not in shown:
            self._file(f"file of {kind}", type="challenge", challenge_id=challenge)
        self._file(f"file of the solution of {kind}", type="solution", solution_id=solved_by)

    def _file(self, what: str, **columns: Any) -> None:
        location = f"{self.told.text(what)}/a.txt"
        self.locations.append(location)
        insert_row(self._conn, files, {"location": location, "sha1sum": "", **columns})

    def _judge(self, challenge: int, kind: str) -> None:
        conn, text = self._conn, self.told.text
        author = {"author_id": self.insider[0], "challenge_id": challenge, "type": "challenge"}
        insert_row(conn, comments, {**author, "content": text(f"comment on {kind}"), "date": self._before})
        review = {"user_id": self.insider[0], "challenge_id": challenge, "value": 1}
        insert_row(conn, ratings, {**review, "review": text(f"review of {kind}"), "date": self._before})
        where = {"ip": "203.0.113.77", "date": self._before, "team_id": self.insider[1]}
        a_submission(conn, challenge, self.insider[0], provided=text(f"wrong answer to {kind}"), **where)

    def _words(self, kind: str, shown: tuple[str, ...]) -> dict[str, Any]:
        columns = ("name", "category", "description", "attribution", "connection_info")
        return {name: f"{kind} {name}" if name in shown else self.told.text(f"{name} of {kind}") for name in columns}

    def _id(self, what: str, *, known: bool) -> int:
        return next(self.told.plain) if known else self.told.id(what)

    def _solved(self, who: Person, challenge: int) -> None:
        told = {"ip": "203.0.113.77", "date": self._before, "provided": self.told.text("right answer")}
        a_solve(self._conn, challenge, who[0], team_id=who[1], **told)

    def _award(self, who: Person, value: int, **columns: Any) -> int:
        return an_award(self._conn, who[0], value, team_id=who[1], date=self._before, **columns)

    def _hill(self, kind: str, **columns: Any) -> int:
        text = self.told.text
        settings = {
            "url": f"http://{text(f'agent of {kind}')}.example/status",
            "api_key": text(f"key of {kind}"),
            "reset_url": f"http://{text(f'reset of {kind}')}.example/reset",
        }
        hill = a_hill(self._conn, **settings, **columns)
        row = self._conn.execute(challenges.select().where(challenges.c.id == hill)).one()
        for tick in range(2):
            paid = self._award(self.insider, 10, type="koth", name=row.name, category=row.category)
            facts = {
                "outcome": "held",
                "identifier": text(f"token on {kind}"),
                "points": 10,
                "award_id": paid,
                "reign": 0,
            }
            who = {"user_id": self.insider[0], "team_id": self.insider[1]}
            insert_row(self._conn, ticks, {"challenge_id": hill, "tick": tick, "due": self._before, **facts, **who})
        return hill
