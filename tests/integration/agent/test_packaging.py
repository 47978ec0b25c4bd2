"""What is installed: the wheel, the editable install, the unit."""

import shutil
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

if TYPE_CHECKING:
    from tests.integration.agent.conftest import Run

ROOT = Path(__file__).parents[3]
AGENT = ROOT / "agent"
UNIT = ROOT / "etc" / "koth-agent.service"
ANALYZE = shutil.which("systemd-analyze")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, run: "Run") -> ZipFile:
    """The agent's wheel, built from a copy: building leaves folders behind."""
    folder = tmp_path_factory.mktemp("wheel")
    left_out = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "dropin.cache")
    source = shutil.copytree(AGENT, folder / "agent", ignore=left_out)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder)]
    ended = run("pip", "wheel", *options, source, folder=folder)
    assert ended.returncode == 0, ended.stderr
    (built,) = folder.glob("*.whl")
    return ZipFile(built)


def test_the_wheel_holds_the_agent_and_its_stub_and_nothing_else(wheel: ZipFile) -> None:
    code = {name for name in wheel.namelist() if ".dist-info/" not in name}
    modules = {str(path.relative_to(AGENT)) for path in (AGENT / "koth_agent").glob("**/*.py")}
    assert code == {"twisted/plugins/kothagent_plugin.py", *modules}


def test_the_wheel_asks_for_four_packages_and_brings_a_command(wheel: ZipFile) -> None:
    (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    lines = wheel.read(metadata).decode().splitlines()
    asked = {line.removeprefix("Requires-Dist: ").partition(">=")[0] for line in lines if line.startswith("Requires-")}
    assert asked - {"Requires-Python: "} == {"klein", "pyopenssl", "service-identity", "twisted"}
    assert "Name: ctfd-koth-agent" in lines
    (entries,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert b"kothagent = koth_agent.main:main" in wheel.read(entries)


def test_the_agent_works_without_the_platform(wheel: ZipFile, tmp_path: Path, run: "Run") -> None:
    """Imported from the unpacked wheel, it loads nothing of the platform nor of what only the platform needs."""
    wheel.extractall(tmp_path)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import koth_agent.main\n"
        f"assert koth_agent.__file__.startswith({str(tmp_path)!r})\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(loaded & {'ctfd_twisted', 'treq', 'sqlalchemy', 'msgspec', 'txtorcon', 'requests', 'jinja2'})\n"
    )
    ended = run(sys.executable, "-c", program, folder=tmp_path)
    assert (ended.stdout, ended.stderr) == ("set()\n", "")


def test_nothing_stands_in_the_way_of_twisted_s_own_packages() -> None:
    assert not (AGENT / "twisted" / "__init__.py").exists()
    assert not (AGENT / "twisted" / "plugins" / "__init__.py").exists()


def test_twistd_lists_the_agent_from_anywhere(tmp_path: Path, run: "Run") -> None:
    """With the editable install that developers have (`pip install -e agent`)."""
    assert "kothagent" in run("twistd", "--help", folder=tmp_path).stdout
    ended = run("twistd", "kothagent", "-help", folder=tmp_path)
    assert (ended.returncode, ended.stdout.splitlines()[0]) == (0, "Usage: twistd [options] kothagent [options]")


@pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze")
def test_the_unit_is_one_that_systemd_understands(tmp_path: Path, run: "Run") -> None:
    unit = tmp_path / UNIT.name
    installed = f"ExecStart={Path(sys.executable).parent}/twistd"  # the unit's own path is that of a real host
    unit.write_text(UNIT.read_text().replace("ExecStart=/opt/koth-agent/bin/twistd", installed))
    ended = run(ANALYZE, "verify", "--man=no", unit, folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_every_line_of_the_unit_has_its_reason() -> None:
    lines = UNIT.read_text().splitlines()
    for before, line in pairwise(lines):
        if "=" in line and not line.startswith("#"):
            assert before.startswith("#"), line
