"""The watched file: whatever a stranger may have left there."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from koth_agent.identity import OwnerUnknown
from koth_agent.ownerfile import read_owner_file

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Start

NOBODY_KNOWS = b'{"success":false,"data":{"identifier":""}}'
ROOT = os.geteuid() == 0


def owner(path: Path) -> str:
    return read_owner_file(str(path))


def unknown(path: Path) -> str:
    with pytest.raises(OwnerUnknown) as caught:
        owner(path)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_file_is_read_up_to_64_kib(tmp_path: Path) -> None:
    path = tmp_path / "owner.txt"
    path.write_bytes(b" alice\xff\n")
    assert owner(path) == "alice\N{REPLACEMENT CHARACTER}"
    path.write_bytes(b"x" * 10_000_000)
    assert owner(path) == "x" * 4096
    path.write_bytes(b" " * 60_000 + b"bob")
    assert owner(path) == "bob"
    path.write_bytes(b" " * 10_000_000 + b"carol")
    assert owner(path) == ""
    os.truncate(path, 0)
    assert owner(path) == ""


def test_what_is_no_file_is_nobody(tmp_path: Path) -> None:
    assert unknown(tmp_path / "none") == "No such file or directory"
    assert unknown(tmp_path / "none" / "none") == "No such file or directory"
    assert unknown(tmp_path) == "not a regular file"
    assert unknown(Path("/dev/zero")) == "not a regular file"


def test_a_fifo_does_not_hang_the_agent(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert unknown(tmp_path / "fifo") == "not a regular file"
    (tmp_path / "link").symlink_to("fifo")
    assert unknown(tmp_path / "link") == "not a regular file"


def test_one_s_own_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("alice")
    (tmp_path / "link").symlink_to("real")
    assert owner(tmp_path / "link") == "alice"
    (tmp_path / "loop").symlink_to("loop")
    assert unknown(tmp_path / "loop") == "Too many levels of symbolic links"
    (tmp_path / "dangling").symlink_to("none")
    assert unknown(tmp_path / "dangling") == "No such file or directory"


@pytest.mark.skipif(not ROOT, reason="needs root, to make files of several users")
def test_a_link_does_not_make_the_agent_read_what_its_maker_may_not(tmp_path: Path) -> None:
    player, other = 4001, 4002
    secret, own = tmp_path / "secret", tmp_path / "own"
    secret.write_text("the agent's key")
    own.write_text("alice")
    os.chown(own, player, player)
    link = tmp_path / "owner.txt"
    for target in (secret, Path("/proc/self/environ")):
        link.symlink_to(target)
        os.lchown(link, player, player)
        assert unknown(link) == "a link made by user 4001 to somebody else's file"
        link.unlink()
    link.symlink_to(own)
    os.lchown(link, player, player)
    assert owner(link) == "alice"
    os.lchown(link, other, other)
    assert unknown(link) == "a link made by user 4002 to somebody else's file"
    os.lchown(link, 0, 0)
    assert owner(link) == "alice"


def test_a_change_is_seen_at_once_and_trouble_is_survived(start: "Start", tmp_path: Path) -> None:
    agent = start("-file", "who/owner.txt", "-apikey", "hush")
    path = tmp_path / "who" / "owner.txt"

    def identifier() -> object:
        reply = agent.ask("/status", Authorization="hush")
        return reply.json()["data"]["identifier"] if reply.status == 200 else reply.body

    assert identifier() == NOBODY_KNOWS
    path.parent.mkdir()
    assert identifier() == NOBODY_KNOWS
    with path.open("w") as file:
        assert identifier() == ""
        file.write("ali")
        file.flush()
        assert identifier() == "ali"  # a half-written file is read as it is,
        file.write("ce\n")
    assert identifier() == "alice"  # and not remembered
    (tmp_path / "new").write_text("bob")
    (tmp_path / "new").rename(path)
    assert identifier() == "bob"
    path.unlink()
    path.mkdir()
    assert identifier() == NOBODY_KNOWS
    path.rmdir()
    os.mkfifo(path)
    assert [identifier() for _ in range(20)] == [NOBODY_KNOWS] * 20
    path.unlink()
    path.write_text("carol")
    assert identifier() == "carol"
    assert "The owner is unknown: who/owner.txt: No such file or directory" in agent.errors.read_text()


@pytest.mark.skipif(ROOT, reason="root may read everything")
def test_a_file_one_may_not_read_is_nobody(tmp_path: Path) -> None:
    (tmp_path / "owner.txt").touch(mode=0)
    assert unknown(tmp_path / "owner.txt") == "Permission denied"
