"""Owner and health commands as real processes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Agent, Pipe, Start, Watched

KIB_64 = 64 * 1024
NOBODY_KNOWS = b'{"success":false,"data":{"identifier":""}}'


def health(agent: "Agent") -> tuple[int, dict[str, Any]]:
    reply = agent.ask("/healthcheck")
    answer = reply.json()
    assert answer["success"] is (reply.status == 200)
    return reply.status, answer["data"]


@pytest.mark.parametrize(
    ("command", "status", "data"),
    [
        ('echo up; echo "\'"', 200, {"stdout": "up\n'\n", "stderr": "", "status": 0}),
        ("echo no >&2", 500, {"stdout": "", "stderr": "no\n", "status": 0}),
        ("exit 3", 500, {"stdout": "", "stderr": "", "status": 3}),
        ("kill -TERM $$", 500, {"stdout": "", "stderr": "", "status": 143}),
        ("kill -KILL $$", 500, {"stdout": "", "stderr": "", "status": 137}),
        ("cat; printf '\\377'", 200, {"stdout": "\N{REPLACEMENT CHARACTER}", "stderr": "", "status": 0}),
        ("yes | head -n 1", 200, {"stdout": "y\n", "stderr": "", "status": 0}),  # SIGPIPE ends `yes` silently
        ("setsid sleep 600 & echo up", 200, {"stdout": "up\n", "stderr": "", "status": 0}),
    ],
)
def test_a_health_command_is_a_shell_command_line(
    start: "Start", command: str, status: int, data: dict[str, Any]
) -> None:
    assert health(start("-health-cmd", command)) == (status, data)


def test_a_command_that_is_not_there_is_an_answer(start: "Start") -> None:
    status, data = health(start("-health-cmd", "no-such-command"))
    assert (status, data["status"]) == (500, 127)
    assert "no-such-command" in data["stderr"]


def test_an_owner_command_stands_in_for_the_file(start: "Start", tmp_path: Path) -> None:
    agent = start("-owner-cmd", "cat who; test -e fine")
    (tmp_path / "who").write_text("  carol \n")
    assert agent.ask("/status").body == NOBODY_KNOWS
    (tmp_path / "fine").touch()
    assert agent.ask("/status").json() == {"success": True, "data": {"identifier": "carol"}}
    (tmp_path / "who").unlink()
    reply = agent.ask("/status")
    assert (reply.status, reply.body) == (500, NOBODY_KNOWS)
    assert "owner-cmd failed: exit status 0, standard error 'cat: who: No such file" in agent.errors.read_text()


def test_over_time_a_command_ends_with_all_its_children(
    start: "Start", pipe: "Pipe", watch: "Callable[[int], Watched]"
) -> None:
    agent = start("-health-cmd", "echo begun; sleep 600 & echo $! $$ >said; wait", "-command-timeout", "1")
    asking = agent.send("/healthcheck")
    processes = [watch(int(pid)) for pid in pipe.line().split()]
    reply = asking.reply()
    assert (reply.status, reply.json()["data"]) == (500, {"stdout": "begun\n", "stderr": "", "status": 124})
    assert all(process.ends() for process in processes)
    assert agent.ask("/status").status == 500  # it goes on; there is no owner file


def test_an_owner_command_over_time_names_nobody(start: "Start") -> None:
    reply = start("-owner-cmd", "echo alice; sleep 600", "-command-timeout", "0.3").ask("/status")
    assert (reply.status, reply.body) == (500, NOBODY_KNOWS)


def test_what_a_command_leaves_in_the_background_ends_with_it(
    start: "Start", pipe: "Pipe", watch: "Callable[[int], Watched]"
) -> None:
    agent = start("-health-cmd", "sleep 600 & echo $! >said; read go <gate; echo done")
    gate = pipe.path.with_name("gate")
    os.mkfifo(gate)
    asking = agent.send("/healthcheck")
    left = watch(int(pipe.line()))
    gate.write_text("go\n")
    assert asking.reply().json()["data"] == {"stdout": "done\n", "stderr": "", "status": 0}
    assert left.ends()


def test_a_stopping_agent_takes_its_commands_along(
    start: "Start", command: list[str], pipe: "Pipe", watch: "Callable[[int], Watched]"
) -> None:
    agent = start("-health-cmd", "sleep 600 & echo $! $$ >said; wait", "-command-timeout", "600", command=command)
    agent.send("/healthcheck")
    processes = [watch(int(pid)) for pid in pipe.line().split()]
    agent.stop()
    assert all(process.ends() for process in processes)


def test_a_crowd_of_requests_is_one_run(start: "Start", pipe: "Pipe", tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "owner.txt").write_text("alice")
    agent = start("-health-cmd", "echo run >>runs; echo $$ >said; read go <gate; echo $go")
    crowd = [agent.send("/healthcheck") for _ in range(200)]
    pipe.line()
    for _ in range(2):  # answered after all that came before have been heard
        assert agent.ask("/status").status == 200
    gate.write_text("once\n")
    assert {asking.reply().body for asking in crowd} == {
        b'{"success":true,"data":{"stdout":"once\\n","stderr":"","status":0}}'
    }
    assert (tmp_path / "runs").read_text() == "run\n"


def test_a_flood_of_output_is_read_to_its_end_but_not_kept(start: "Start") -> None:
    flood = "head -c 30000000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero | tr '\\0' e >&2; exit 7"
    status, data = health(start("-health-cmd", flood))
    assert (status, data) == (500, {"stdout": "x" * KIB_64, "stderr": "e" * KIB_64, "status": 7})


def test_an_endless_flood_ends_over_time_and_others_are_answered_meanwhile(start: "Start", tmp_path: Path) -> None:
    (tmp_path / "owner.txt").write_text("alice")
    agent = start("-health-cmd", "yes", "-command-timeout", "1")
    flood = agent.send("/healthcheck")
    assert agent.ask("/status").status == 200
    data = flood.reply().json()["data"]
    assert (len(data["stdout"]), data["status"]) == (KIB_64, 124)


def test_who_hangs_up_takes_nothing_from_those_who_wait(start: "Start", pipe: "Pipe", tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    agent = start("-health-cmd", "echo $$ >said; read go <gate; echo $go")
    impatient, patient = agent.send("/healthcheck"), agent.send("/healthcheck")
    pipe.line()
    impatient.hang_up()
    assert agent.ask("/status").status == 500
    gate.write_text("here\n")
    assert patient.reply().json()["data"]["stdout"] == "here\n"
    agent.stop()
    assert "Traceback" not in agent.errors.read_text()
