"""Claims about what is installed: both wheels, in a fresh environment, outside the checkout."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = Path(sysconfig.get_path("purelib"))
NEITHER = shutil.ignore_patterns("__pycache__", "node_modules", "*.egg-info", "build", "dropin.cache")


def run(*command: object, cwd: Path) -> str:
    """The standard output of a command that has to succeed."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(sources: list[Path], work: Path) -> Path:
    """The wheel of a copy of *sources*, so that building leaves nothing in the checkout."""
    copy = work / "sources"
    copy.mkdir(parents=True)
    for source in sources:
        if source.is_dir():
            shutil.copytree(source, copy / source.name, ignore=NEITHER)
        else:
            shutil.copy(source, copy)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", work, copy, cwd=work)
    (wheel,) = work.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def platform_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ["setup.py", "pyproject.toml", "README.md", "LICENSE", "ctfd_twisted", "twisted"]
    return build_wheel([ROOT / name for name in names], tmp_path_factory.mktemp("platform"))


@pytest.fixture(scope="module")
def agent_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ["setup.py", "pyproject.toml", "README.md", "koth_agent", "twisted"]
    return build_wheel([ROOT / "agent" / name for name in names], tmp_path_factory.mktemp("agent"))


class Environment:
    """A fresh virtual environment that borrows the dependencies of the one the tests run in.

    What stands in a ``.pth`` file here is a folder on the path; the ``.pth`` files within that folder, by which the
    checkout is installed there, do not count.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
        self.python = folder / "env" / "bin" / "python"
        (self.site,) = (folder / "env").glob("lib/python*/site-packages")
        (self.site / "dependencies.pth").write_text(f"{SITE}\n")

    def pip(self, *arguments: object) -> None:
        run(sys.executable, "-m", "pip", "--python", self.python, *arguments, cwd=self.folder)

    def run(self, code: str) -> str:
        """What *code* prints, in an empty folder."""
        return run(self.python, "-c", code, cwd=self.folder)

    def script(self, name: str, *arguments: object) -> str:
        """What an installed script prints; one of the dependencies' runs in this environment as well."""
        own = self.python.with_name(name)
        script = own if own.exists() else Path(sys.executable).with_name(name)
        return run(self.python, script, *arguments, cwd=self.folder)

    def tapnames(self) -> set[str]:
        """The commands that twistd would list, of all that is installed."""
        return set(
            self.run(
                "from twisted.application.service import IServiceMaker\n"
                "from twisted.plugin import getPlugins\n"
                "for plugin in getPlugins(IServiceMaker): print(plugin.tapname)"
            ).split()
        )


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_platforms_wheel_has_everything_it_opens_at_run_time(platform_wheel: Path) -> None:
    wanted = {
        str(file.relative_to(ROOT))
        for folder in ("ctfd_twisted/web/templates", "ctfd_twisted/web/static", "ctfd_twisted/db/migrations")
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and not file.name.startswith(".")
    }
    assert wanted | {"ctfd_twisted/py.typed", "twisted/plugins/ctfplatform_plugin.py"} <= names(platform_wheel)
    # What npm brings is part of the wheel: `make assets` has to come before the build.
    assert any(name.startswith("ctfd_twisted/web/static/vendor/") for name in wanted)


def test_the_platforms_wheel_has_nothing_else(platform_wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(platform_wheel) if ".dist-info/" not in name}
    assert tops == {"ctfd_twisted", "twisted"}
    assert not {name for name in names(platform_wheel) if "__pycache__" in name or "node_modules" in name}


def test_neither_wheel_overwrites_a_file_of_twisteds(platform_wheel: Path, agent_wheel: Path) -> None:
    files = {name for wheel in (platform_wheel, agent_wheel) for name in names(wheel) if name.startswith("twisted/")}
    assert files == {"twisted/plugins/ctfplatform_plugin.py", "twisted/plugins/kothagent_plugin.py"}


def test_an_installed_platform_is_found_and_works(environment: Environment, platform_wheel: Path) -> None:
    environment.pip("install", "--no-deps", "--no-index", platform_wheel)
    where = Path(environment.run("import ctfd_twisted; print(ctfd_twisted.__file__)").strip())
    assert where.is_relative_to(environment.site)
    assert "ctfplatform" in environment.tapnames()
    assert "ctfplatform" in environment.script("twistd", "--help")
    assert "--trusted-proxies" in environment.script("twistd", "ctfplatform", "--help")
    # The migrations come out of the package, and so do the templates.
    assert "Created the schema" in environment.script("ctfplatform", "migrate")
    environment.run(
        "from importlib.resources import files\n"
        "from jinja2 import Environment, PackageLoader\n"
        "pages = Environment(loader=PackageLoader('ctfd_twisted.web'), extensions=['jinja2.ext.i18n'])\n"
        "assert pages.list_templates()\n"
        "for name in pages.list_templates(): pages.loader.get_source(pages, name)\n"
    )


def test_both_live_in_one_environment_and_removing_one_keeps_the_other(
    environment: Environment, platform_wheel: Path, agent_wheel: Path
) -> None:
    environment.pip("install", "--no-deps", "--no-index", platform_wheel, agent_wheel)
    assert {"ctfplatform", "kothagent"} <= environment.tapnames()
    environment.pip("uninstall", "--yes", "ctfd-twisted")
    assert environment.tapnames() & {"ctfplatform", "kothagent"} == {"kothagent"}
    environment.pip("uninstall", "--yes", "ctfd-koth-agent")
    assert "web" in environment.tapnames()


def test_the_agent_needs_nothing_of_the_platform(environment: Environment, agent_wheel: Path) -> None:
    environment.pip("install", "--no-deps", "--no-index", agent_wheel)
    assert "kothagent" in environment.tapnames()
    assert "apikey" in environment.script("twistd", "kothagent", "--help")
