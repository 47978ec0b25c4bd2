"""An event full of secrets: whatever may be hidden is there, solved and paid for, and can be told from all else."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import audience_members, audiences, field_entries, fields, tokens
from ctfd_twisted.challenges.tables import (
    challenges,
    module_audience_access,
    modules,
)
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.competition.tables import secrets as own_secrets
from ctfd_twisted.content.tables import pages
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.values import recompute_values
from ctfd_twisted.testing.builders import (
    a_challenge,
    a_team,
    a_user,
    an_award,
)
from ctfd_twisted.webhooks.tables import endpoints
from tests.contract.secret_rows import Person, SecretRows


class SecretEvent(SecretRows):
    """The event. *before* is when everything happened; ``viewer`` has solved one challenge and may know of no secret.

    ``insider`` is seen by all, has solved everything, and paid for hints; nobody may know of the ``ghosts``. Of the
    ``unknown`` challenges nobody may know either, of the ``known`` ones that they are there.
    """

    def __init__(self, conn: Connection, before: datetime, *, teams: bool) -> None:
        super().__init__(conn, before)
        self._teams = teams
        self._fields()
        self.viewer = self._player("viewer", self._team("viewers"), listed=True)
        self.insider = self._player("insider", self._team("insiders"), listed=True)
        self._ghosts()
        plain = self.told.plain
        self.open = a_challenge(conn, id=next(plain), name="open", dynamic={"initial": 500, "minimum": 100, "decay": 5})
        self.second = a_challenge(conn, id=next(plain), name="second")
        for number, kind, solution in ((self.open, "open", "hidden"), (self.second, "second", "solved")):
            hint = {"title": "open", "cost": 50}
            self._parts(number, f"the {kind} challenge", hint=hint, solution=solution, shown=("tag", "file"))
        self._solved(self.viewer, self.open)
        self._challenges()
        self._hills()
        self._organisation()
        recompute_values(conn)
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
            **{
                "name": name,
                "email": f"{name if name == 'viewers' else text(f'mail of {name}')}@x.example",
                **columns,
            },
            password=text(f"password of {name}"),
            secret=text(f"secret of {name}"),
        )
        if name != "viewers":
            entry = {"type": "team", "field_id": 2, "team_id": team, "value": text(f"private answer of {name}")}
            insert_row(self._conn, field_entries, entry)
        return team

    def _player(self, name: str, team_id: int | None, *, listed: bool, **columns: Any) -> Person:
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
                # What is scored for a team that all know is told without who it was.
                name = text(what) if team_id in {None, own_team} else "award"
                an_award(self._conn, ghost[0], 7, team_id=team_id, name=name, date=self._before)

    # Challenges

    def _challenges(self) -> None:
        conn, later, text = self._conn, self._before + timedelta(days=300), self.told.text
        self.module = insert_row(conn, modules, {"name": text("module"), "description": text("module")})
        audience = insert_row(conn, audiences, {"name": text("audience"), "type": "standard"})
        insert_row(conn, module_audience_access, {"module_id": self.module, "audience_id": audience})
        account = {"team_id": self.insider[1]} if self._teams else {"user_id": self.insider[0]}
        insert_row(conn, audience_members, {"audience_id": audience, **account})
        needs: dict[str, Any] = {"prerequisites": [self.second]}
        preview = {**needs, "anonymize": "preview"}
        self.unknown = [
            self._challenge("hidden", state="hidden"),
            self._challenge("draft", state="draft"),
            self._challenge("scheduled", scheduled_at=later),
            self._challenge("module", module_id=self.module),
            self._challenge("module and preview", module_id=self.module, requirements=preview),
        ]
        self.known = [
            self._challenge("locked", known=True, state="locked"),
            self._challenge("unmet", known=True, requirements=needs),
            self._challenge("anonymised", known=True, requirements={**needs, "anonymize": True}),
            self._challenge("falsely anonymised", known=True, requirements={**needs, "anonymize": "false"}),
            self._challenge("preview", known=True, shown=("name", "category", "tag"), requirements=preview),
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

    # Hills

    def _hills(self) -> None:
        needs = {"prerequisites": [self.second], "anonymize": True}
        self.hill = self._hill("the open hill", name="open hill", id=next(self.told.plain))
        for kind, columns in (
            ("a hidden hill", {"state": "hidden"}),
            ("a hill in a module", {"module_id": self.module}),
        ):
            self.unknown.append(self._hill(kind, **self._words(kind, ()), **columns, id=self.told.id(kind)))
        kind = "an anonymised hill"
        number = next(self.told.plain)
        self.known.append(self._hill(kind, **self._words(kind, ()), requirements=needs, id=number))

    # All else

    def _organisation(self) -> None:
        conn, text = self._conn, self.told.text
        draft = {"title": text("draft"), "route": "draft", "content": text("draft"), "draft": True, "hidden": False}
        insert_row(conn, pages, {**draft, "auth_required": False, "format": "markdown"})
        keys = (
            "mail_password",
            "mail_username",
            "registration_code",
            "oauth_client_secret",
            "mailgun_api_key",
            "unheard",
        )
        write_config(conn, {key: text(f"setting {key}") for key in keys})
        conn.execute(own_secrets.insert().values(name="unheard", value=text("secret of the platform")))
        token = {"type": "user", "user_id": self.insider[0], "description": text("token"), "value": text("token")}
        insert_row(conn, tokens, {**token, "created": self._before, "expiration": self._before + timedelta(days=900)})
        hook = {"url": f"https://{text('webhook')}.example/", "description": text("webhook"), "events": []}
        state = {"standard_webhooks": False, "state": "active", "failures": 0}
        insert_row(conn, endpoints, {**hook, **state, "created": self._before})
