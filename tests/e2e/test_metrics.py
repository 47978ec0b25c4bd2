"""What Prometheus is told by real processes, and that the dashboard and the manual name nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from organiser import set_up
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from running import Person, PlatformProcess, eventually
from test_starting import refusal

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "etc" / "grafana-dashboard.json").read_text())
MANUAL = (ROOT / "docs" / "operations.md").read_text()
METRICS = ("--metrics", "tcp:0:interface=127.0.0.1")


class Watched:
    """A platform that tells its figures."""

    def __init__(self, platform: PlatformProcess) -> None:
        self.platform = platform
        self.url = platform.wait_for(r"Figures for Prometheus on (http://127\.0\.0\.1:\d+/metrics)")[1]

    def text(self) -> str:
        """All of it."""
        answer = requests.get(self.url, timeout=20)
        assert answer.status_code == 200
        return answer.text

    def samples(self) -> list[Sample]:
        """Every number."""
        return [one for family in text_string_to_metric_families(self.text()) for one in family.samples]

    def sum(self, name: str, **labels: str) -> float:
        """The sum of all numbers of that name and those labels."""
        return sum(one.value for one in self.samples() if one.name == name and labels.items() <= one.labels.items())


@pytest.fixture(scope="module", params=["1", "2"], ids=["one-process", "workers"])
def watched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("metrics")
    with PlatformProcess(folder, None, *METRICS, "--workers", request.param) as platform:
        if request.param != "1":
            platform.wait_for(r"Supervisor#info\] Ready")
        set_up(platform)
        yield Watched(platform)


def test_requests_are_counted_by_route_whoever_answers(watched: Watched) -> None:
    def seen() -> float:
        return watched.sum("ctfplatform_requests_total", method="GET", route="/api/v1/challenges/<challenge_id>")

    before = seen()
    for number in range(20):
        requests.get(f"{watched.platform.base}/api/v1/challenges/{number}", timeout=20)
    assert seen() == before + 20
    assert not any("/challenges/7" in value for one in watched.samples() for value in one.labels.values())


def test_transactions_queues_and_processes_are_told(watched: Watched) -> None:
    Person(watched.platform).submit("/register", name="ada", email="ada@example.org", password="a long password")
    assert watched.sum("ctfplatform_transactions_total", outcome="done") > 5
    assert watched.sum("ctfplatform_transaction_seconds_count") > 5
    assert watched.sum("ctfplatform_threads") > 5
    assert watched.sum("ctfplatform_ready") > 0
    assert watched.sum("process_resident_memory_bytes") > 20_000_000
    eventually(lambda: watched.sum("ctfplatform_reactor_delay_seconds_count") > 2, "the reactor was looked at")
    eventually(lambda: watched.sum("ctfplatform_polls_hills") == 1, "one process polls")


def test_nobody_is_told_of(watched: Watched) -> None:
    """Names, addresses and secrets of people are in no label."""
    Person(watched.platform).page("/api/v1/users/1?secret=geheim")
    text = watched.text()
    assert "ada" not in {word for one in watched.samples() for word in one.labels.values()}
    assert "geheim" not in text
    assert "example.org" not in text


def test_the_figures_are_apart_from_the_public_listener(watched: Watched) -> None:
    assert "ctfplatform_" not in requests.get(f"{watched.platform.base}/metrics", timeout=20).text
    assert requests.get(watched.url.replace("/metrics", "/"), timeout=20).status_code == 404
    assert requests.get(watched.url.replace("/metrics", "/login"), timeout=20).status_code == 404


def told(text: str) -> set[str]:
    """The names of all samples that there may be."""
    names = set()
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE):
        ends = (
            ["_bucket", "_count", "_sum"] if kind == "histogram" else ["_count", "_sum"] if kind == "summary" else [""]
        )
        names |= {name + end for end in ends}
    return names


def queried() -> set[str]:
    """The names of figures in the dashboard's queries."""
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    assert len(queries) > 30
    return {name for query in queries for name in re.findall(r"\b(?:ctfplatform|process|python)_\w+", query)}


def test_every_figure_is_in_the_dashboard_and_in_the_manual(tmp_path: Path) -> None:
    with PlatformProcess(tmp_path, None, *METRICS, "--workers", "2") as platform:
        platform.wait_for(r"Supervisor#info\] Ready")
        text = Watched(platform).text()
    assert queried() <= told(text)
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in told(text)}
    assert {name for name in families if name.startswith("ctfplatform_")} <= {
        re.sub(r"_(bucket|count|sum)$", "", name) for name in queried()
    }
    assert {name for name in families if name.startswith("ctfplatform_")} == set(
        re.findall(r"`(ctfplatform_\w+)`", MANUAL.split("## Figures for Prometheus")[1].split("[grafana")[0])
    )


def test_a_worker_that_is_replaced_is_told_of_anew(tmp_path: Path) -> None:
    with PlatformProcess(tmp_path, None, *METRICS, "--workers", "2") as platform:
        platform.wait_for(r"Supervisor#info\] Ready")
        watched = Watched(platform)
        platform.process.send_signal(1)
        eventually(lambda: platform.printed.count("Supervisor#info] Ready") == 2, "new workers")

        def workers() -> set[str]:
            return {
                one.labels["worker"] for one in watched.samples() if one.name == "ctfplatform_worker_up" and one.value
            }

        new = {"supervisor", "services-2", "web-2.1", "web-2.2"}
        eventually(lambda: workers() == new, "the old workers are told of no more")


def test_an_endpoint_that_is_taken_is_one_line_and_status_1(tmp_path: Path) -> None:
    assert "--metrics unix:/nowhere/metrics: cannot listen: " in refusal(
        tmp_path, "--listen", "tcp:0", "--metrics", "unix:/nowhere/metrics"
    )


def test_without_the_option_nothing_of_it_is_loaded() -> None:
    program = "import sys, ctfd_twisted.service; print([n for n in sys.modules if 'prometheus' in n or 'metrics' in n])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
