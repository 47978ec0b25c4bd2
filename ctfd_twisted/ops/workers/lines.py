"""What workers print, for the log of the process that looks after them."""

from __future__ import annotations

from typing import Final

from twisted.runner.procmon import LineLogger, ProcessMonitor

_END: Final = b"\n"


class WorkerLines(LineLogger):
    """One stream of a worker, line by line.

    A line that is longer than twisted.runner takes is logged in pieces: its own way to refuse one is to fail, after
    which nobody reads the pipe any more, and the worker can say nothing from then on.
    """

    def __init__(self, tag: str, stream: str, service: ProcessMonitor) -> None:
        self.tag = tag
        self.stream = stream
        self.service = service

    def lineReceived(self, line: bytes) -> None:
        """Log *line*, if it says anything."""
        if line:
            super().lineReceived(line)

    def lineLengthExceeded(self, line: bytes) -> None:  # noqa: N802 - Twisted's name
        """Log the whole lines in *line* and keep the rest; what has no end yet is logged as far as it goes."""
        *lines, rest = line.split(_END)
        for whole in lines or [rest]:
            self.lineReceived(whole)
        if lines:
            self.dataReceived(rest)
