"""Pictures of shared solves, drawn in a thread, one at a time, and kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec
from twisted.internet.defer import DeferredLock

from ctfd_twisted.challenges.memo import Memo
from ctfd_twisted.db.threads import InThread
from ctfd_twisted.files.content import Content
from ctfd_twisted.files.pictures import LARGEST_PICTURE
from ctfd_twisted.web.share_image import Card, draw
from ctfd_twisted.web.share_reads import Logo

#: Bytes that kept pictures may take together.
_ROOM: Final = 8 * 2**20

#: ``Store.open``: the content at a location, if there is any; it waits.
OpenFile = Callable[[str], Content | None]


class Pictures:
    """The pictures that were asked for last."""

    def __init__(self, in_thread: InThread, open_file: OpenFile) -> None:
        self._in_thread = in_thread
        self._open = open_file
        self._kept: Memo[bytes] = Memo(len, _ROOM)
        # Whoever asks for a picture that is being drawn waits for it, and the machine has other things to do.
        self._drawing = DeferredLock()

    async def of(self, card: Card, logo: Logo | None, now: datetime) -> bytes:
        """The picture of *card* with *logo*, as PNG."""
        picture = self._kept.get((card, logo), (), now)
        if picture is not None:
            return picture
        await self._drawing.acquire()
        try:
            picture = self._kept.get((card, logo), (), now)
            if picture is None:
                picture = self._kept.put((card, logo), (), None, await self._in_thread(self._drawn, card, logo))
            return picture
        finally:
            self._drawing.release()

    def _drawn(self, card: Card, logo: Logo | None) -> bytes:
        return draw(card if logo is None else msgspec.structs.replace(card, logo=self._content(logo)))

    def _content(self, logo: Logo) -> bytes | None:
        try:
            content = self._open(logo.location)
            if content is None:
                return None
            try:
                return content.file.read(LARGEST_PICTURE) if content.version.size <= LARGEST_PICTURE else None
            finally:
                content.file.close()
        except OSError:
            return None  # the picture is drawn without it
