"""What was freed is there for the next answers."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
from ctfd_twisted.ops import memory
if {told}:
    memory.keep_for_answers()
def answers():
    return [bytes(140_000) for _ in range(16)]
for _ in range(3):
    answers()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    answers()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries are left alone")
def test_large_answers_take_no_new_pages_each_time() -> None:
    usual, told = (
        int(subprocess.run([sys.executable, "-c", FAULTS.format(told=told)], capture_output=True, check=True).stdout)
        for told in (False, True)
    )
    assert told < 100 < usual
