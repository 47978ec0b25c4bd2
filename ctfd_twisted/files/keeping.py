"""Keeps the pictures that come with a form, beside all other files."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping

from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files.content import Store
from ctfd_twisted.files.pictures import Picture
from ctfd_twisted.files.receiving import Part
from ctfd_twisted.files.rules import Place
from ctfd_twisted.files.store import Owner
from ctfd_twisted.files.uploads import Uploads


class PictureKeeper:
    """Pictures into the store, with a row for each: anybody may have them."""

    def __init__(self, uploads: Uploads, store: Store, in_thread: InThread) -> None:
        self._uploads = uploads
        self._store = store
        self._in_thread = in_thread

    async def keep(self, pictures: Mapping[str, Picture]) -> dict[str, str]:
        """Keep all of *pictures*, or none; the location of each by its key. Raises ``OSError``."""
        if not pictures:
            return {}
        parts: list[Part] = []
        try:
            for picture in pictures.values():
                parts.append(await self._in_thread(self._staged, picture))  # noqa: PERF401 - those before it are discarded
            await self._uploads.add(Owner("standard"), parts, [part.place for part in parts])
        finally:
            for part in parts:
                await self._in_thread(part.content.discard)
        return {key: part.place.location for key, part in zip(pictures, parts, strict=True)}

    def _staged(self, picture: Picture) -> Part:
        place = Place(secrets.token_hex(16), picture.name)
        content = self._store.stage(place.location)
        try:
            content.write(picture.content)
            content.close()
        except BaseException:
            content.discard()
            raise
        return Part(place, content, hashlib.sha1(picture.content, usedforsecurity=False).hexdigest())
