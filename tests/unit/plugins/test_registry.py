"""Kinds are found as Twisted plug-ins, those of third parties like our own."""

import subprocess
import sys
from pathlib import Path

import pytest

from ctfd_twisted.challenges.flags import RegexFlag, StaticFlag
from ctfd_twisted.challenges.registry import DuplicateKind, by_id, challenge_types, flag_types

THIRD_PARTY = """
from twisted.plugin import IPlugin
from zope.interface import implementer

from ctfd_twisted.interfaces import IFlagType


@implementer(IPlugin, IFlagType)
class PalindromeFlag:
    id = name = "palindrome"
    templates = {}

    def clean(self, content):
        return content

    def matches(self, content, data, submission):
        return submission == submission[::-1]


palindrome = PalindromeFlag()
"""


def test_the_built_in_kinds_are_found() -> None:
    assert {"standard", "dynamic"} <= set(challenge_types())
    assert {"static", "regex"} <= set(flag_types())


def test_two_of_one_name_are_an_error() -> None:
    first, second = StaticFlag(), StaticFlag()
    with pytest.raises(DuplicateKind, match="static"):
        by_id([first, RegexFlag(), second])


def test_a_file_of_a_third_party_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "ctfd_twisted" / "plugins"
    folder.mkdir(parents=True)
    (folder / "palindromes.py").write_text(THIRD_PARTY)
    look = "from ctfd_twisted.challenges.registry import flag_types; print(*flag_types())"
    found = subprocess.run(
        [sys.executable, "-c", look], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert {"static", "regex", "palindrome"} <= set(found.stdout.split())
