"""An event full of secrets: whatever may be hidden is there, solved and paid for, and can be told from all else."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import audience_members, audiences, field_entries, fields, tokens
from ctfd_twisted.challenges.tables import (
    challenge_topics,
    challenges,
    files,
    module_audience_access,
    modules,
    ratings,
    solutions,
    tags,
    topics,
)
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.competition.tables import secrets as own_secrets
from ctfd_twisted.content.tables import comments, pages
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.scoring.tables import unlocks
from ctfd_twisted.testing.builders import (
    a_challenge,
    a_flag,
    a_hint,
    a_solve,
    a_submission,
    a_team,
    a_user,
    an_award,
)
from ctfd_twisted.testing.hills import a_hill
from ctfd_twisted.webhooks.tables import endpoints

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


class SecretEvent:
    """The event. *before* is when everything happened; ``viewer`` has solved one challenge and may know of no secret.

    ``insider`` is seen by all, has solved everything, and paid for hints; ``sharer`` is a hidden player.
    """

    def __init__(self, conn: Connection, before: datetime, *, teams: bool) -> None:
        self.told = Told()
        self._conn, self._before, self._teams = conn, before, teams
        self.locations: list[str] = []
        self._fields()
        self.viewer = self._player("viewer", self._team("viewers"), listed=True)
        self.insider = self._player("insider", self._team("insiders"), listed=True)
        self._ghosts()
        plain = self.told.plain
        self.open = a_challenge(conn, id=next(plain), name="open", dynamic={"initial": 500, "minimum": 100, "decay": 5})
        self.second = a_challenge(conn, id=next(plain), name="second")
        self._parts(self.open, "the open challenge", hint={"title": "open", "cost": 50}, solution="hidden", shown=("tag",))
        self._parts(self.second, "the second challenge", hint={"title": "open", "cost": 0}, solution="solved", shown=("tag",))
        self._solved(self.viewer, self.open)
        self._challenges()
        self._hills()
        self._organisation()
        touch(conn, EVERYTHING)

    # Accounts

    def _fields(self) -> None:
        kind = {"field_type": "text", "description": "", "required": False, "editable": True, "public": False}
        for owner in ("user", "team"):
            insert_row(self._conn, fields, {"name": "phone", "type": owner, **kind})

    def _team(self, name: str, **columns: Any) -> int | None:
        if not self._teams:
            return None
        text = self.told.text
        team = a_team(
            self._conn,
            **{"name": name, "email": f"{text('mail of ' + name)}@x.example", **columns},
            password=text(f"password of {name}"),
            secret=text(f"secret of {name}"),
        )
        entry = {"type": "team", "field_id": 2, "team_id": team, "value": text(f"private answer of {name}")}
        insert_row(self._conn, field_entries, entry)
        return team

    def _player(self, name: str, team_id: int | None, *, listed: bool, **columns: Any) -> tuple[int, int | None]:
        text = self.told.text
        secrets = {} if listed else {column: text(f"{column} of {name}") for column in ("website", "affiliation")}
        user = a_user(
            self._conn,
            **{"name": name, "email": f"{name}@x.example", **secrets, **columns},
            team_id=team_id,
            password=text(f"password of {name}"),
            secret=text(f"secret of {name}"),
        )
        if name != "viewer":
            entry = {"type": "user", "field_id": 1, "user_id": user, "value": text(f"private answer of {name}")}
            insert_row(self._conn, field_entries, entry)
        return user, team_id

    def _ghosts(self) -> None:
        """Hidden and banned players and teams, of whom nobody may know; some are members of teams that all know."""
        text, number = self.told.text, self.told.id
        self.ghosts = []
        for word in ("hidden", "banned"):
            what = f"a {word} team"
            closed = {word: True, "website": text(what), "affiliation": text(what)}
            own_team = self._team(text(what), id=number(what), **closed)
            for team_id in {own_team, self.insider[1]}:
                what = f"a {word} player"
                ghost = self._player(
                    text(what), team_id, listed=False, id=number(what), email=text(what) + "@x.example", **{word: True}
                )
                self.ghosts.append(ghost)
                an_award(self._conn, ghost[0], 7, team_id=team_id, name=text(what), date=self._before)

    # Challenges

    def _challenges(self) -> None:
        conn, later, text = self._conn, self._before + timedelta(days=300), self.told.text
        self.module = insert_row(conn, modules, {"name": text("module"), "description": text("module")})
        audience = insert_row(conn, audiences, {"name": text("audience"), "type": "standard"})
        insert_row(conn, module_audience_access, {"module_id": self.module, "audience_id": audience})
        account = {"team_id": self.insider[1]} if self._teams else {"user_id": self.insider[0]}
        insert_row(conn, audience_members, {"audience_id": audience, **account})
        needs: dict[str, Any] = {"prerequisites": [self.second]}
        self.unknown = [
            self._challenge("hidden", state="hidden"),
            self._challenge("draft", state="draft"),
            self._challenge("scheduled", scheduled_at=later),
            self._challenge("module", module_id=self.module),
            self._challenge("module and preview", module_id=self.module, requirements={**needs, "anonymize": "preview"}),
        ]
        self.known = [
            self._challenge("locked", known=True, state="locked"),
            self._challenge("unmet", known=True, requirements=needs),
            self._challenge("anonymised", known=True, requirements={**needs, "anonymize": True}),
            self._challenge("falsely anonymised", known=True, requirements={**needs, "anonymize": "false"}),
            self._challenge("preview", known=True, shown=("name", "category", "tag"), requirements={**needs, "anonymize": "preview"}),
        ]
        self._solved(self.insider, self.second)
        following = self.unknown[0]
        conn.execute(challenges.update().where(challenges.c.id == self.open).values(next_id=following))

    def _challenge(self, kind: str, *, known: bool = False, shown: tuple[str, ...] = (), **columns: Any) -> int:
        columns |= self._words(kind, shown)
        number = a_challenge(self._conn, id=self._id(f"challenge {kind}", known=known), **columns)
        # A locked challenge keeps its hints open; its solution is hidden here for that reason.
        hint: dict[str, Any] = {"title": kind} if kind == "locked" else {"title": self.told.text(f"hint of {kind}")}
        hint["id"] = self._id(f"hint of {kind}", known=known)
        self._parts(number, kind, hint=hint, solution="hidden" if kind == "locked" else "visible", shown=shown)
        self._solved(self.insider, number)
        for ghost in self.ghosts:
            if not self._teams:
                self._solved(ghost, number)
        return number

    def _words(self, kind: str, shown: tuple[str, ...]) -> dict[str, Any]:
        columns = ("name", "category", "description", "attribution", "connection_info")
        return {
            name: f"{kind} {name}" if name in shown else self.told.text(f"{name} of {kind}") for name in columns
        }

    def _id(self, what: str, *, known: bool) -> int:
        return next(self.told.plain) if known else self.told.id(what)

    def _parts(
        self, challenge: int, kind: str, *, hint: dict[str, Any], solution: str, shown: tuple[str, ...] = ()
    ) -> None:
        conn, text = self._conn, self.told.text
        a_flag(conn, challenge, text(f"flag of {kind}"), data=text(f"data of a flag of {kind}"))
        a_flag(conn, challenge, text(f"regex of {kind}"), type="regex")
        content = text(f"hint of {kind}") if kind != "locked" else "locked"
        hint_id = a_hint(conn, challenge, **{"id": next(self.told.plain), "cost": 5, "content": content, **hint})
        name = conn.execute(challenges.select().where(challenges.c.id == challenge)).one().name
        self._award(self.insider, -5, name=f"Hint {hint_id}", description=f"Hint for {name}", category="hints")
        row = {"user_id": self.insider[0], "team_id": self.insider[1], "type": "hints", "target": hint_id}
        insert_row(conn, unlocks, {**row, "date": self._before})
        body = {"challenge_id": challenge, "content": text(f"solution of {kind}"), "state": solution}
        solved_by = insert_row(conn, solutions, body)
        tag = "tag" if "tag" in shown else text(f"tag of {kind}")
        insert_row(conn, tags, {"challenge_id": challenge, "value": tag})
        topic = insert_row(conn, topics, {"value": text(f"topic of {kind}")})
        insert_row(conn, challenge_topics, {"challenge_id": challenge, "topic_id": topic})
        if challenge not in {getattr(self, "open", 0), getattr(self, "second", 0)}:
            location = f"{text(f'file of {kind}')}/a.txt"
            self.locations.append(location)
            insert_row(conn, files, {"type": "challenge", "challenge_id": challenge, "location": location, "sha1sum": ""})
        location = f"{text(f'file of the solution of {kind}')}/a.txt"
        self.locations.append(location)
        insert_row(conn, files, {"type": "solution", "solution_id": solved_by, "location": location, "sha1sum": ""})
        author = {"author_id": self.insider[0], "challenge_id": challenge, "type": "challenge"}
        insert_row(conn, comments, {**author, "content": text(f"comment on {kind}"), "date": self._before})
        review = {"user_id": self.insider[0], "challenge_id": challenge, "value": 1}
        insert_row(conn, ratings, {**review, "review": text(f"review of {kind}"), "date": self._before})
        where = {"ip": "203.0.113.77", "date": self._before, "team_id": self.insider[1]}
        a_submission(conn, challenge, self.insider[0], provided=text(f"wrong answer to {kind}"), **where)

    def _solved(self, who: tuple[int, int | None], challenge: int) -> None:
        told = {"ip": "203.0.113.77", "date": self._before, "provided": self.told.text("right answer")}
        a_solve(self._conn, challenge, who[0], team_id=who[1], **told)

    def _award(self, who: tuple[int, int | None], value: int, **columns: Any) -> int:
        return an_award(self._conn, who[0], value, team_id=who[1], date=self._before, **columns)

    # Hills

    def _hills(self) -> None:
        needs = {"prerequisites": [self.second], "anonymize": True}
        self.hill = self._hill("the open hill", name="open hill", id=next(self.told.plain))
        for kind, columns in (("a hidden hill", {"state": "hidden"}), ("a hill in a module", {"module_id": self.module})):
            self.unknown.append(self._hill(kind, **self._words(kind, ()), **columns, id=self.told.id(kind)))
        kind = "an anonymised hill"
        number = next(self.told.plain)
        self.known.append(self._hill(kind, **self._words(kind, ()), requirements=needs, id=number))

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
            facts = {"outcome": "held", "identifier": text(f"token on {kind}"), "points": 10, "award_id": paid, "reign": 0}
            who = {"user_id": self.insider[0], "team_id": self.insider[1]}
            insert_row(self._conn, ticks, {"challenge_id": hill, "tick": tick, "due": self._before, **facts, **who})
        return hill

    # All else

    def _organisation(self) -> None:
        conn, text = self._conn, self.told.text
        draft = {"title": text("draft"), "route": "draft", "content": text("draft"), "draft": True, "hidden": False}
        insert_row(conn, pages, {**draft, "auth_required": False, "format": "markdown"})
        keys = ("mail_password", "mail_username", "registration_code", "oauth_client_secret", "mailgun_api_key", "unheard")
        write_config(conn, {key: text(f"setting {key}") for key in keys})
        conn.execute(own_secrets.insert().values(name="unheard", value=text("secret of the platform")))
        token = {"type": "user", "user_id": self.insider[0], "description": text("token"), "value": text("token")}
        insert_row(conn, tokens, {**token, "created": self._before, "expiration": self._before + timedelta(days=900)})
        hook = {"url": f"https://{text('webhook')}.example/", "description": text("webhook"), "events": []}
        state = {"standard_webhooks": False, "state": "active", "failures": 0}
        insert_row(conn, endpoints, {**hook, **state, "created": self._before})
