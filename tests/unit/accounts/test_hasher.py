"""Hashes are made elsewhere, only so many wait, and an unknown name costs what a known one does."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import pytest
from twisted.internet.defer import CancelledError

from ctfd_twisted.accounts.hasher import NICE, Hasher, hashing_threads
from ctfd_twisted.db.database import Done, start_inline
from ctfd_twisted.errors import Busy
from ctfd_twisted.testing import result_of


def test_a_made_hash_verifies() -> None:
    hasher = Hasher(start_inline, rounds=4)
    stored = result_of(hasher.make("secret"))
    assert "r=4$" in stored
    assert result_of(hasher.verify("secret", stored)) is True
    assert result_of(hasher.verify("Secret", stored)) is False
    assert result_of(hasher.verify("secret", None)) is False


def test_taking_as_long_never_succeeds() -> None:
    hasher = Hasher(start_inline, rounds=4)
    stored = result_of(hasher.make("secret"))
    assert result_of(hasher.verify_as_long("secret", stored)) is False
    assert result_of(hasher.verify_as_long("secret", None)) is False


def test_more_than_the_bound_are_refused_at_once_and_room_returns() -> None:
    begun: list[tuple[Callable[[], Any], Done]] = []
    hasher = Hasher(lambda work, done: begun.append((work, done)), rounds=4, waiting=2)
    first, second = hasher.make("a"), hasher.make("b")
    with pytest.raises(Busy):
        hasher.make("c")
    for work, done in begun:
        done(True, work())
    assert result_of(first) != result_of(second)
    hasher.make("c")
    assert len(begun) == 3


def test_a_failure_of_the_thread_is_the_callers() -> None:
    hasher = Hasher(start_inline, rounds=4)
    with pytest.raises(AttributeError):
        result_of(hasher.make(None))  # type: ignore[arg-type]
    assert result_of(hasher.make("x"))


def test_a_hash_whose_caller_has_hung_up_is_not_made() -> None:
    begun: list[tuple[Callable[[], Any], Done]] = []
    hasher = Hasher(lambda work, done: begun.append((work, done)), rounds=4, waiting=1)
    gone = hasher.make(None).addErrback(lambda failure: failure.trap(CancelledError))  # type: ignore[arg-type]
    gone.cancel()
    kept = hasher.make("somebody else's")  # there is room
    for work, done in begun:
        done(True, work())  # the first would fail
    assert result_of(kept)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone knows priorities of threads")
def test_hashing_threads_step_back_and_nobody_else_does() -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    own, seen = priority(), SimpleQueue[int]()
    pool = hashing_threads()
    pool.start()
    pool.callInThread(lambda: seen.put(priority()))
    try:
        assert seen.get(timeout=20) == min(19, own + NICE)
        assert priority() == own
    finally:
        pool.stop()
