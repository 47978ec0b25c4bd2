"""`twistd kothagent`: puts the parts together. The only module that imports the reactor."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.endpoints import AdoptedStreamServerEndpoint, serverFromString
from twisted.internet.interfaces import IListeningPort, IProtocolFactory, IReactorCore, IStreamServerEndpoint
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure

from koth_agent.channel import AgentSite
from koth_agent.commands import CommandRunner
from koth_agent.errors import StartError, ending
from koth_agent.identity import OwnerUnknown, owner_printed_by
from koth_agent.listener import bind, host_and_port, spell_address
from koth_agent.options import KEY_VARIABLE, AgentOptions, Settings
from koth_agent.ownerfile import read_owner_file
from koth_agent.site import Door, Routes

Options = AgentOptions  # the names twistd looks for: Options, makeService


def makeService(options: AgentOptions) -> "AgentService":
    """The agent as a service. Ends the process with one line if it can't listen."""
    from twisted.internet import reactor  # noqa: PLC0415 - here, so that importing this installs none

    try:
        return make_agent(options.settings, reactor, os.environb)
    except StartError as error:
        raise ending(error) from error


def make_agent(settings: Settings, reactor: Any, environment: Mapping[bytes, bytes]) -> "AgentService":
    """The agent of *settings*; *environment* is what its commands get, but for the key. Raises ``StartError``."""
    without_key = {name: value for name, value in environment.items() if name != KEY_VARIABLE.encode("ascii")}
    commands = CommandRunner(reactor, reactor, settings.command_timeout, without_key)
    in_thread = partial(deferToThreadPool, reactor, reactor.getThreadPool())
    routes = Routes(
        owner_source(settings, commands, in_thread), partial(commands.run, settings.health_cmd), settings.key
    )
    site = AgentSite(Door(routes.app.resource(), settings.key, settings.networks), reactor)
    factory: IProtocolFactory = site
    if settings.tls is not None:
        factory = TLSMemoryBIOFactory(settings.tls, False, site, reactor)
    endpoint = make_endpoint(settings, reactor)
    return AgentService(settings, endpoint, factory, commands, reactor)


def owner_source(
    settings: Settings, commands: CommandRunner, in_thread: Callable[[Callable[[str], str], str], Awaitable[str]]
) -> Callable[[], Awaitable[str]]:
    """Where the owner is asked for: the owner command if there is one, or else the watched file."""
    command = settings.owner_cmd
    if command is not None:

        async def ask_command() -> str:
            return owner_printed_by(await commands.run(command))

        return ask_command

    async def read_file() -> str:
        try:
            return await in_thread(read_owner_file, settings.file)
        except RuntimeError as error:  # no thread can be started: somebody's fork bomb, say
            raise OwnerUnknown(f"{settings.file}: {error}") from error

    return read_file


def make_endpoint(settings: Settings, reactor: Any) -> IStreamServerEndpoint:
    """Where to listen. For host and port the socket is bound here, and the start lines printed."""
    if settings.listen is not None:
        try:
            endpoint: IStreamServerEndpoint = serverFromString(reactor, settings.listen)
        except Exception as error:  # an endpoint's parser, which may be anybody's, raises what it likes
            raise StartError(f"listen {settings.listen!r}: {error}") from error
        return endpoint
    listening = bind(settings.host, settings.port)
    say_started(host_and_port(*listening.getsockname()[:2]), settings)
    return AdoptedStreamServerEndpoint(reactor, listening.detach(), listening.family)


def say_started(address: str, settings: Settings) -> None:
    """The start lines, on the standard output the process was started with: twistd turns sys.stdout into its log."""
    if sys.__stdout__ is not None:
        sys.__stdout__.write(f"Listening on {address}\n{settings.encryption}\n")
        sys.__stdout__.flush()


class AgentService(Service):
    """Listens, and ends the commands under way when it stops."""

    _log = Logger()

    def __init__(
        self,
        settings: Settings,
        endpoint: IStreamServerEndpoint,
        factory: IProtocolFactory,
        commands: CommandRunner,
        reactor: IReactorCore,
    ) -> None:
        self.error: StartError | None = None  # why it does not listen, if it does not
        self._settings = settings
        self._endpoint = endpoint
        self._factory = factory
        self._commands = commands
        self._reactor = reactor
        self._listening: Deferred[Any] | None = None  # an IListeningPort, or None if that failed

    def privilegedStartService(self) -> None:
        """Listen, while a low port or a private folder can still be had. Raises ``StartError``."""
        super().privilegedStartService()
        listening: Deferred[Any] = self._endpoint.listen(self._factory)
        listening.addCallbacks(self._listens, self._does_not_listen)
        if self.error is not None:
            raise self.error
        self._listening = listening

    def startService(self) -> None:
        """Listen now if nobody asked for it before (`python -m twisted` does not). Raises ``StartError``."""
        super().startService()
        if self._listening is None:
            self.privilegedStartService()

    def stopService(self) -> Deferred[None]:
        """Stop listening and kill the commands; whoever waits for one is told so if there is time."""
        super().stopService()
        self._commands.stop()
        listening, self._listening = self._listening, None
        if listening is None:
            return succeed(None)
        listening.cancel()  # an onion service may still be waiting for Tor
        return listening.addCallback(lambda port: None if port is None else port.stopListening())

    def _listens(self, port: IListeningPort) -> IListeningPort:
        address = spell_address(port.getHost())
        if self._settings.listen is not None:
            say_started(address, self._settings)
        self._log.info(
            "Answering for {what} at {address}; {encryption}; {key}",
            address=address,
            # Not the command itself: there may be a password in it.
            what="an owner command" if self._settings.owner_cmd else self._settings.file,
            encryption=self._settings.encryption,
            key="a key is asked for" if self._settings.key else "no key: whoever may connect may ask",
        )
        return port

    def _does_not_listen(self, failure: Failure) -> None:
        if failure.check(CancelledError):
            return
        self.error = StartError(f"listen {self._settings.listen!r}: {failure.getErrorMessage()}")
        line = ending(self.error).code
        # Under twistd sys.stderr is the log by now; who typed the command still wants the one line.
        if sys.__stderr__ is not None:
            sys.__stderr__.write(f"{line}\n")
        if self._listening is not None:  # it took a while; or else privilegedStartService raises
            self._log.critical("Not listening: {error}", error=self.error)
            self._reactor.stop()
