"""Files that pages load, and what robots are told."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import TEXT, Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import tagged_answer
from ctfd_twisted.web.assets_store import Assets

_CACHED: Final = (b"Cache-Control", b"public, max-age=3600")
_ROBOTS: Final = "User-agent: *\nDisallow: /admin\n"


class AssetPages:
    """Theme files, plug-ins' files and ``robots.txt``; all out of memory."""

    routes = Routes()

    def __init__(self, assets: Assets) -> None:
        self._assets = assets

    @routes.get("/themes/<theme>/static/<path:path>", ANYONE, always=True)
    def theme_file(self, call: Call, theme: str, path: str) -> Answer:
        """A file of the theme. There is one, so every other name falls back to it, as in CTFd."""
        del theme
        return self._file(call, path)

    @routes.get("/plugins/<name>/assets/<path:path>", ANYONE, before_setup=True)
    def plugin_file(self, call: Call, name: str, path: str) -> Answer:
        """A file of a kind of challenge or flag, as ``type_data`` names it."""
        return self._file(call, f"plugins/{name}/{path}")

    @routes.get("/robots.txt", ANYONE, before_setup=True)
    def robots(self, call: Call) -> Answer:
        """What the competition tells robots."""
        return Answer(call.competition.text("robots_txt", _ROBOTS).encode(), content_type=TEXT)

    def _file(self, call: Call, path: str) -> Answer:
        asset = self._assets.get(path)
        if asset is None:
            raise NotFound
        return tagged_answer(call, asset, asset.content_type, _CACHED)
