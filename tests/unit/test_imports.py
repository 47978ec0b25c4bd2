"""Claims about who imports whom: rules <- transactions <- shell, no circles, two distributions apart."""

import ast
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"ctfd_twisted": ROOT, "koth_agent": ROOT / "agent"}
NETWORK = {"twisted", "klein", "treq", "txtorcon"}
#: Of Twisted, what anybody may use: a log is only written to, and plug-ins are found on the disk.
PATIENT = ("twisted.logger", "twisted.plugin")

#: What the others share; a feature may use all of it.
KERNEL = {"db", "http", "settings", "errors", "interfaces", "schema", "testing", "service", "ops", "plugins"}


def modules(package: str) -> dict[str, Path]:
    """The files of *package* by their modules' names, without what npm brings and what Alembic loads by path."""
    base = PACKAGES[package]
    return {
        ".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__"): file
        for file in sorted((base / package).rglob("*.py"))
        if not {"node_modules", "versions"} & set(file.parts)
    }


OURS = {name: file for package in PACKAGES for name, file in modules(package).items()}


@cache
def imported(file: Path) -> frozenset[str]:
    """Every name that *file* imports, at its top or within a function: ``a.b`` and, of ``from a import b``, both."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are written out in full"
            assert node.module is not None
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(names)


@cache
def direct(module: str) -> frozenset[str]:
    """The modules of ours that *module* imports."""
    return frozenset(name for name in imported(OURS[module]) if name in OURS and name != module)


@cache
def reached(module: str) -> frozenset[str]:
    """*module* and all modules of ours that are imported with it, one by another."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(direct(name))
    return frozenset(seen)


def foreign(module: str) -> set[str]:
    """The top-level packages of others that come with *module*."""
    names = {name.split(".")[0] for one in reached(module) for name in imported(OURS[one])}
    return names - set(PACKAGES)


@cache
def shell(module: str) -> frozenset[str]:
    """What comes with *module* and waits for the world."""
    names = {name for one in reached(module) for name in imported(OURS[one]) if name.split(".")[0] in NETWORK}
    return frozenset(name for name in names if not name.startswith(PATIENT))


def called(*names: str) -> list[str]:
    return [module for module in OURS if module.rpartition(".")[2] in names and "." in module]


@pytest.mark.parametrize("module", called("rules"))
def test_rules_are_pure(module: str) -> None:
    assert not foreign(module) - set(sys.stdlib_module_names) - {"msgspec"}


@pytest.mark.parametrize("module", called("store", "tables"))
def test_transactions_know_no_network(module: str) -> None:
    assert not shell(module)


def feature(module: str) -> str:
    return module.split(".")[1] if module.startswith("ctfd_twisted.") else ""


def test_a_feature_uses_no_shell_of_another() -> None:
    wrong = [
        f"{module} imports {other}"
        for module in OURS
        for other in direct(module)
        if feature(module) not in KERNEL | {feature(other), ""} and feature(other) not in KERNEL | {""} and shell(other)
    ]
    assert wrong == []


def test_no_imports_go_in_a_circle() -> None:
    circles = {
        tuple(sorted(other for other in reached(module) if module in reached(other)))
        for module in OURS
        if any(module in reached(other) for other in direct(module))
    }
    assert circles == set()


def test_the_platform_and_the_agent_import_nothing_of_each_other() -> None:
    for module, file in OURS.items():
        other = "koth_agent" if module.startswith("ctfd_twisted") else "ctfd_twisted"
        assert not {name for name in imported(file) if name.split(".")[0] == other}, module


def test_no_module_imports_the_reactor_at_its_top() -> None:
    for module, file in OURS.items():
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert "reactor" not in {alias.name.rpartition(".")[2] for alias in node.names}, module


@pytest.mark.parametrize("base", PACKAGES.values(), ids=str)
def test_nothing_hides_twisteds_own_plugins(base: Path) -> None:
    assert not (base / "twisted" / "__init__.py").exists()
    assert not (base / "twisted" / "plugins" / "__init__.py").exists()


#: Modules that need what only an extra brings; nobody imports them before it is wanted.
OF_EXTRAS = {"ctfd_twisted.files.s3": "s3", "ctfd_twisted.files.s3_pieces": "s3"}


def declared(setup: Path, keyword: str, extra: str = "dev") -> set[str]:
    """The distributions that *keyword* of ``setup()`` names, with what those need, as Klein needs Werkzeug."""
    found: list[str] = []
    for call in ast.walk(ast.parse(setup.read_text())):
        if isinstance(call, ast.keyword) and call.arg == keyword:
            value = ast.literal_eval(call.value)
            found.extend(value[extra] if isinstance(value, dict) else value)
    direct_ones = {distribution(text) for text in found}
    implied = {distribution(text) for one in direct_ones for text in requires(one) or () if "extra ==" not in text}
    return direct_ones | implied


def distribution(requirement: str) -> str:
    """The name in ``psycopg[binary]>=3.2``."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def undeclared(files: Iterable[Path], names: set[str]) -> dict[str, str]:
    """Top-level modules of others that one of *files* imports and none of the distributions *names* brings."""
    distributions = packages_distributions()
    tops = {name.split(".")[0]: str(file) for file in files for name in imported(file)}
    return {
        top: file
        for top, file in tops.items()
        if top not in sys.stdlib_module_names | PACKAGES.keys() | {"tests", "bench"}
        and not {distribution(name) for name in distributions.get(top, [])} & names
    }


@pytest.mark.parametrize(("package", "base"), PACKAGES.items())
def test_what_is_imported_is_declared(package: str, base: Path) -> None:
    files = [file for name, file in modules(package).items() if name not in OF_EXTRAS]
    assert undeclared(files, declared(base / "setup.py", "install_requires")) == {}


@pytest.mark.parametrize(("module", "extra"), OF_EXTRAS.items())
def test_what_an_extra_brings_is_imported_by_those_who_need_it(module: str, extra: str) -> None:
    setup = ROOT / "setup.py"
    brought = declared(setup, "install_requires") | declared(setup, "extras_require", extra)
    assert undeclared([OURS[module]], brought) == {}
    for name, file in OURS.items():
        first = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ImportFrom | ast.Import)]
        at_once = {getattr(node, "module", None) for node in first} | {one.name for node in first for one in node.names}
        assert name in OF_EXTRAS or module not in at_once, name


def test_what_the_tests_import_is_declared() -> None:
    names = declared(ROOT / "setup.py", "install_requires") | declared(ROOT / "setup.py", "extras_require")
    # One program of the tests runs in the environment of the clients that others have published, which is not this one.
    pinned = (ROOT / "tests" / "e2e" / "clients" / "requirements.txt").read_text()
    of_clients = {distribution(line) for line in pinned.splitlines() if "==" in line}
    files = [file for folder in ("tests", "bench") for file in (ROOT / folder).rglob("*.py")]
    own = {file.stem for file in files}
    found = undeclared(files, names)
    assert {top for top in found if top not in own | of_clients} == set()
