"""`kothagent`: the agent in the foreground, and `kothagent certify`."""

import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from twisted.logger import globalLogBeginner, textFileLogObserver

from koth_agent.certify import certify
from koth_agent.errors import StartError, ending
from koth_agent.options import AgentOptions
from koth_agent.tap import makeService


def main() -> int:
    """Run the command; its exit status. The log goes to standard error, the start lines to standard output."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["certify"]:
        try:
            certify(arguments[1:], Path.cwd(), datetime.now(UTC), sys.stdout)
        except StartError as error:
            raise ending(error) from error
        return 0
    options = AgentOptions()
    options.parseOptions(arguments)
    return run(options)


def run(options: AgentOptions) -> int:
    """Run the agent of *options* until it is told to stop."""
    from twisted.internet import reactor  # noqa: PLC0415 - importing it installs it

    service = makeService(options)
    globalLogBeginner.beginLoggingTo([textFileLogObserver(sys.stderr)], redirectStandardIO=False)
    try:
        service.privilegedStartService()
    except StartError:
        return 1  # the service has said why
    service.startService()
    reactor.addSystemEventTrigger("before", "shutdown", service.stopService)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under nohup
        # The terminal was closed. That would end the agent and leave its commands; Twisted heeds only the other two.
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    reactor.run()
    return 0 if service.error is None else 1
