"""Claims about the folder of uploads: what is in it is found, and nothing else."""

import os
from pathlib import Path

import pytest

from ctfd_twisted.files.disk import Disk


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "uploads" / "abc").mkdir(parents=True)
    (tmp_path / "uploads" / "abc" / "a.txt").write_text("content")
    return Disk(tmp_path / "uploads")


def test_a_file_is_found_with_its_version(disk: Disk) -> None:
    content = disk.open("abc/a.txt")
    assert content is not None
    with content.file:
        assert content.file.read() == b"content"
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
