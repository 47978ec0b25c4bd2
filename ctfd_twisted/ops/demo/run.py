"""Puts the demonstration together: processes for platform and agent, the other parts in this one."""

from __future__ import annotations

import random
import re
import secrets
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from treq.client import HTTPClient
from twisted.internet import task
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.utils import getProcessOutputAndValue
from twisted.python.failure import Failure
from twisted.web.client import Agent
from twisted.web.server import Site

from ctfd_twisted.ops.demo.players import Api, ScriptedPlayer, Stage, names
from ctfd_twisted.ops.demo.receiver import Receiver
from ctfd_twisted.ops.demo.target import Target

ADMIN = "organiser"
PLAYERS = 6
TEAMS = 3
#: Seconds that a process has to say that it is ready.
PATIENCE = 60


class Ports(msgspec.Struct, frozen=True):
    """Where the parts listen, on the loopback; 0 is any free port."""

    platform: int = 8000
    agent: int = 31337
    target: int = 5000


class _Child(ProcessProtocol):
    """A process of ours: its output is watched until it says that it is ready."""

    def __init__(self, ready: str) -> None:
        self._pattern = re.compile(ready)
        self._printed = ""
        self.ready: Deferred[str] = Deferred()
        self.ended: Deferred[None] = Deferred()

    def childDataReceived(self, _fd: int, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Look for the sign of readiness."""
        if self.ready.called:
            return
        self._printed += data.decode(errors="replace")
        found = self._pattern.search(self._printed)
        if found is not None:
            self.ready.callback(found[1])

    def processEnded(self, _reason: Failure) -> None:  # noqa: N802 - Twisted's name
        """It is gone."""
        if not self.ready.called:
            self.ready.errback(RuntimeError(f"a part of the demonstration did not start:\n{self._printed}"))
        self.ended.callback(None)

    async def stop(self) -> None:
        """End it and wait for that."""
        if self.transport is not None and not self.ended.called:
            self.transport.signalProcess("TERM")
        await self.ended


def demo(ports: Ports, seconds: float | None) -> None:
    """Run until interrupted, or for so many *seconds*; everything is kept in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="ctfplatform-demo-") as folder:
        task.react(lambda reactor: Deferred.fromCoroutine(_Demo(reactor, Path(folder), ports).run(seconds)))


class _Demo:
    def __init__(self, reactor: Any, folder: Path, ports: Ports) -> None:
        self._reactor = reactor
        self._folder = folder
        self._ports = ports
        self._children: list[_Child] = []
        self._http = HTTPClient(Agent(reactor, connectTimeout=5))
        self._chance = random.Random()  # noqa: S311 - what players do

    async def run(self, seconds: float | None) -> None:
        """Everything, from the first process to the last."""
        try:
            await self._play(seconds)
        finally:
            for child in reversed(self._children):
                await child.stop()

    async def _play(self, seconds: float | None) -> None:
        password = secrets.token_urlsafe(9)
        self._in_folder("password").write_text(password)
        place = ["--data-dir", str(self._in_folder("data"))]
        await self._command("setup", *place, *self._setup_options())
        token = (await self._command("token", ADMIN, *place)).strip()
        base = await self._start(
            r"Listening on (http://\S+)[\s\S]*Ready",
            *("twistd", "--nodaemon", "--pidfile=", "ctfplatform", *place),
            *("--listen", f"tcp:{self._ports.platform}:interface=127.0.0.1"),
        )
        admin = Api(self._http, base, token)
        stage, receiver = await self._build(admin)
        players = [await self._player(admin, name, number, base, stage) for number, name in enumerate(names(PLAYERS))]
        _say(f"\nThe platform is at {base} - sign in as {ADMIN!r} with the password {password!r}.")
        _say(f"The target application is at {stage.target}, the webhooks' receiver at {receiver}.")
        _say("Watch the scoreboard; Ctrl-C ends it all.\n")
        running = [self._keep_playing(player) for player in players]
        ended: Deferred[None] = Deferred()
        if seconds is not None:
            self._reactor.callLater(seconds, ended.callback, None)
        try:
            await ended
        finally:
            for loop in running:
                loop.stop()

    def _setup_options(self) -> tuple[str, ...]:
        secret = str(self._in_folder("password"))
        admin = ("--admin-name", ADMIN, "--admin-email", "organiser@example.org", "--admin-password-file", secret)
        return ("--name", "Demo CTF", "--mode", "teams", *admin)

    async def _build(self, admin: Api) -> tuple[Stage, str]:
        """Challenges, the hill with its agent and its target application, and the webhooks' receiver."""
        answers = {}
        for number, (name, value) in enumerate((("Warm-up", 50), ("Locked box", 150), ("Old cipher", 250)), 1):
            flag = f"flag{{{secrets.token_hex(8)}}}"
            body = {"name": name, "category": "demo", "description": f"Challenge {number}.", "value": value}
            challenge = await admin.call("POST", "/challenges", {**body, "type": "standard", "state": "visible"})
            await admin.call("POST", "/flags", {"challenge_id": challenge["id"], "type": "static", "content": flag})
            answers[challenge["id"]] = flag
        owner = self._in_folder("owner.txt")
        key = secrets.token_urlsafe(16)
        self._in_folder("apikey").write_text(key)
        agent = await self._start(
            r"Listening on (\S+:\d+)",
            *("twistd", "--nodaemon", "--pidfile=", "kothagent", "--apikey-file", str(self._in_folder("apikey"))),
            *("--file", str(owner), "--host", "127.0.0.1", "--port", str(self._ports.agent)),
        )
        target = await self._listen(Target(owner), self._ports.target)
        hill = {"name": "The hill", "category": "koth", "description": "Write your token into the application."}
        settings = {"url": f"http://{agent}/status", "interval": 5, "reward": 5, "api_key": key}
        made = await admin.call(
            "POST", "/challenges", {**hill, **settings, "type": "koth", "connection_info": target, "state": "visible"}
        )
        receiver = await self._webhook(admin)
        return Stage(answers, made["id"], target), receiver

    async def _webhook(self, admin: Api) -> str:
        secret = (await admin.call("GET", "/webhooks/secret"))["secret"]
        receiver = Receiver(secret, self._reactor.seconds, _say)
        url = await self._listen(receiver, 0) + "hook"
        events = ["user.created", "team.created", "solve.created", "first_blood.created", "koth.king_changed"]
        endpoint = await admin.call("POST", "/webhooks", {"url": url, "events": events})
        await admin.call("POST", f"/webhooks/{endpoint['id']}/validate", {})
        return url

    async def _player(self, admin: Api, name: str, number: int, base: str, stage: Stage) -> ScriptedPlayer:
        user = await admin.call(
            "POST", "/users", {"name": name, "email": f"{name}@example.org", "password": secrets.token_urlsafe(9)}
        )
        if number < TEAMS:
            team = f"The {('foxes', 'owls', 'otters')[number]}"
            await admin.call("POST", "/teams", {"name": team, "password": secrets.token_urlsafe(9)})
        team_id = (await admin.call("GET", "/teams"))[number % TEAMS]["id"]
        await admin.call("POST", f"/teams/{team_id}/members", {"user_id": user["id"]})
        token = (await self._command("token", name, "--data-dir", str(self._in_folder("data")))).strip()
        return ScriptedPlayer(Api(self._http, base, token), self._http, name, stage, self._chance)

    def _keep_playing(self, player: ScriptedPlayer) -> task.LoopingCall:
        async def act() -> None:
            try:
                await player.act(_say)
            except Exception as error:  # noqa: BLE001 - one deed that fails is told; the player goes on
                _say(f"a player stumbles: {error}")

        loop = task.LoopingCall(act)
        loop.clock = self._reactor
        loop.start(player.pause, now=False)
        return loop

    async def _listen(self, part: Any, port: int) -> str:
        site = Site(part.app.resource())
        site.logFile = None
        endpoint = TCP4ServerEndpoint(self._reactor, port, interface="127.0.0.1")
        listening = await endpoint.listen(site)
        return f"http://127.0.0.1:{getattr(listening.getHost(), 'port', port)}/"

    async def _start(self, ready: str, program: str, *arguments: str) -> str:
        """Start a program of ours beside this one's Python; what the group of *ready* matched in its output."""
        child = _Child(ready)
        self._children.append(child)
        path = str(Path(sys.executable).with_name(program))
        self._reactor.spawnProcess(child, path, [path, *arguments], env=None, path=str(self._folder))
        child.ready.addTimeout(PATIENCE, self._reactor)
        return await child.ready

    async def _command(self, *arguments: str) -> str:
        """Run ``ctfplatform`` with *arguments* to its end; what it printed."""
        path = str(Path(sys.executable).with_name("ctfplatform"))
        out, err, status = await getProcessOutputAndValue(path, arguments, env=None, reactor=self._reactor)
        if status != 0:
            raise RuntimeError(f"ctfplatform {arguments[0]}: {err.decode(errors='replace')}")
        return bytes(out).decode()

    def _in_folder(self, name: str) -> Path:
        return self._folder / name


def _say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S}  {text}" if not text.startswith(("\n", "The ", "Watch")) else text, flush=True)
