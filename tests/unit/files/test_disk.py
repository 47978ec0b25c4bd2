"""Claims about the folder of uploads: what is in it is found, and nothing else."""

import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from ctfd_twisted.files.disk import FORGOTTEN, Disk


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "uploads" / "abc").mkdir(parents=True)
    (tmp_path / "uploads" / "abc" / "a.txt").write_text("content")
    return Disk(tmp_path / "uploads")


def test_a_file_is_found_with_its_version(disk: Disk) -> None:
    content = disk.open("abc/a.txt")
    assert content is not None
    with closing(content.file) as file:
        assert file.read(100) == b"content"
    assert content.version.size == 7


@pytest.mark.parametrize(
    "location",
    [
        "",
        "abc",
        "abc/",
        "abc/b.txt",
        "abc/a.txt/b",
        "../secret",
        "abc/../../secret",
        "./abc/a.txt",
        "/abc/a.txt",
        "abc//a.txt",
        "abc/\0",
        "abc/" + "x" * 300,
        "x/" * 3000 + "x",
    ],
)
def test_nothing_else_is_found(disk: Disk, location: str) -> None:
    assert disk.open(location) is None


def test_no_link_leads_out(disk: Disk, tmp_path: Path) -> None:
    (disk.root / "abc" / "out").symlink_to(tmp_path / "secret")
    (disk.root / "abc" / "round").symlink_to("round")
    (disk.root / "abc" / "in").symlink_to("a.txt")
    assert disk.open("abc/out") is None
    assert disk.open("abc/round") is None
    content = disk.open("abc/in")
    assert content is not None
    content.file.close()


def test_the_folder_itself_may_be_a_link(disk: Disk, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(disk.root)
    content = Disk(tmp_path / "link").open("abc/a.txt")
    assert content is not None
    content.file.close()


def test_a_pipe_is_no_file(disk: Disk) -> None:
    os.mkfifo(disk.root / "abc" / "pipe")
    assert disk.open("abc/pipe") is None


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert Disk(tmp_path / "none").open("abc/a.txt") is None


def test_a_folder_that_can_not_be_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        Disk(tmp_path / "file").check()
    Disk(tmp_path / "a" / "b").check()
    assert (tmp_path / "a" / "b").is_dir()


def test_what_a_killed_process_left_is_forgotten_after_an_hour(disk: Disk) -> None:
    disk.forget()
    left, recent = disk.stage("abc/b.txt"), disk.stage("abc/c.txt")
    left.close()
    recent.close()
    waiting = sorted((disk.root / ".incoming").iterdir())
    an_hour_ago = time.time() - FORGOTTEN - 1
    os.utime(waiting[0], (an_hour_ago, an_hour_ago))
    disk.forget()
    assert list((disk.root / ".incoming").iterdir()) == waiting[1:]
