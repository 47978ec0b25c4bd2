"""Starts that fail: one line on standard error, exit status 1, nothing listening, no secret shown."""

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["-port", "99999"], "port '99999': expected a number from 0 to 65535"),
        (["-origin", "::/0,x"], "origin '::/0,x': 'x' does not appear to be an IPv4 or IPv6 network"),
        (["-apikey-file", "none"], "apikey-file none: No such file or directory"),
        (["-listen", "carrier-pigeon:1"], "listen 'carrier-pigeon:1': Unknown endpoint type: 'carrier-pigeon'"),
        (["-host", "192.0.2.1", "-port", "0"], "host '192.0.2.1', port 0: Cannot assign requested address"),
        (["-unknown=SECRET"], "unknown option --unknown"),
    ],
)
def test_a_wrong_setting_is_one_line(refusal: Any, command: list[str], options: list[str], line: str) -> None:
    assert refusal(*options, command=command) == f"kothagent: {line}"


def test_an_empty_key_file_does_not_open_the_agent_to_everybody(refusal: Any, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("\n")
    assert refusal("-apikey-file", "key") == "kothagent: apikey-file key: the file is empty"


def test_a_key_file_with_two_lines_can_be_no_key(refusal: Any, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("SECRET\nSECRET\n")
    assert refusal("-apikey-file", "key") == "kothagent: apikey: a header can't carry the control characters in it"
