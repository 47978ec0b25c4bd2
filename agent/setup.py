"""Names, packages and dependencies of the agent: a distribution of its own, beside the platform's."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent


def version() -> str:
    """The one version number, read as text so that building needs none of the dependencies."""
    found = re.search(r'^__version__ = "([^"]+)"$', (HERE / "koth_agent/__init__.py").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("koth_agent/__init__.py has no __version__")
    return found.group(1)


setup(
    name="ctfd-koth-agent",
    version=version(),
    description="Says who holds the hill: a King-of-the-Hill agent on Twisted, for CTFd and ctfd-twisted",
    long_description=(HERE / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    # Makes an editable install put this folder itself on sys.path (a .pth file). With setuptools' import hook
    # alone koth_agent imports, but twistd does not see the stub in twisted/plugins.
    package_dir={"": "."},
    packages=find_packages(include=["koth_agent", "koth_agent.*"]),
    # Named one by one: twisted/ and twisted/plugins/ have no __init__.py, for one there would replace Twisted's.
    py_modules=["twisted.plugins.kothagent_plugin"],
    entry_points={"console_scripts": ["kothagent = koth_agent.main:main"]},
    # A target host installs nothing else. `certify` and the TLS options also use cryptography, in whose types
    # pyOpenSSL's own interface is written; it can't be absent.
    install_requires=[
        "klein>=24.8",
        "pyopenssl>=24.1",
        "service-identity>=24.1",
        "twisted>=24.7",
    ],
    classifiers=[
        "Framework :: Twisted",
        "Intended Audience :: Education",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3.11",
    ],
)
