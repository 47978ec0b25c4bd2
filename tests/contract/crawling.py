"""Every path that GET takes, with everything that can stand in its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from ctfd_twisted.testing import Client, MemoryPlatform, Reply

#: What is not asked for: what ends the session, a stream that never ends, and files that come with the program.
LEFT_OUT = {
    "/logout",
    "/events",
    "/<path:path>",
    "/themes/<theme>/static/<path:path>",
    "/plugins/<name>/assets/<path:path>",
}

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def paths(platform: MemoryPlatform, values: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """Every path with every combination of *values* for its parameters; a parameter without values is an error."""
    resource: Any = platform.platform.resource
    for method, route in sorted(resource._site.known):
        if method == "GET" and route not in LEFT_OUT:
            # What stands before, between and after the parameters, and their names.
            plain, names = _PARAMETER.split(route)[::2], _PARAMETER.findall(route)
            for chosen in product(*(values[name] for name in names)):
                yield "".join(f"{text}{value}" for text, value in zip(plain, (*chosen, ""), strict=True))


def crawled(client: Client, wanted: Sequence[str]) -> dict[str, Reply]:
    """The answer to each of *wanted*: of the REST API to a script, of pages to a browser."""
    return {path: asked(client, path) for path in wanted}


def asked(client: Client, path: str) -> Reply:
    """The answer to one path."""
    return client.get(path, content_type="application/json" if path.startswith("/api/") else "text/html")
