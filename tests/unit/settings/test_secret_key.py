"""Claims about the key's file."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ctfd_twisted.settings.secret_key import ensure_secret_key, read_secret_key


def test_a_missing_key_is_made_for_the_owner_alone(tmp_path: Path) -> None:
    key = ensure_secret_key(tmp_path / "secret_key")
    assert len(key) == 64
    assert (tmp_path / "secret_key").read_bytes() == key
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


def test_a_key_that_is_there_is_kept_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_bytes(b" \x00key\n")
    assert ensure_secret_key(tmp_path / "secret_key") == b" \x00key\n"


def test_all_who_start_at_once_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(ensure_secret_key, [tmp_path / "secret_key"] * 40))
    assert len(keys) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


def test_an_empty_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret_key").touch()
    with pytest.raises(ValueError, match="not empty"):
        read_secret_key(tmp_path / "secret_key")
