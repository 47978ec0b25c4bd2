"""What workers print, line by line."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from twisted.runner.procmon import ProcessMonitor
from zope.interface import implementer

from ctfd_twisted.ops.workers.lines import WorkerLines


@pytest.fixture
def logged() -> Any:
    lines: list[str] = []

    @implementer(ILogObserver)
    def observe(event: LogEvent) -> None:
        if "tag" in event:
            lines.append(f"{event['tag']} {event['stream']}: {event['line']}")

    globalLogPublisher.addObserver(observe)
    yield lines
    globalLogPublisher.removeObserver(observe)


@pytest.fixture
def stream() -> WorkerLines:
    return WorkerLines("web-1.1", "stdout", ProcessMonitor())


def test_lines_are_logged_with_who_wrote_them(stream: WorkerLines, logged: list[str]) -> None:
    stream.dataReceived(b"one\ntw")
    stream.dataReceived(b"o\n\n")
    assert logged == ["web-1.1 stdout: one", "web-1.1 stdout: two"]


def test_a_long_line_takes_nothing_with_it(stream: WorkerLines, logged: list[str]) -> None:
    long = b"x" * 40_000
    stream.dataReceived(b"before\n" + long + b"\nafter\nbeg")
    stream.dataReceived(b"un\n")
    assert [line.split(": ")[1] for line in logged] == ["before", long.decode(), "after", "begun"]


def test_a_line_without_an_end_is_logged_in_pieces(stream: WorkerLines, logged: list[str]) -> None:
    for _ in range(40):
        stream.dataReceived(b"x" * 1000)
    assert len(logged) == 2
    stream.dataReceived(b"\nafter\n")
    assert logged[-1] == "web-1.1 stdout: after"
    assert sum(len(line.split(": ")[1]) for line in logged[:-1]) == 40_000
