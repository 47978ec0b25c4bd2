"""The application that players fight over: who writes their name into it last is on the hill."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from klein import Klein
from twisted.internet.threads import deferToThread
from twisted.web.iweb import IRequest

#: So many characters of what is sent are kept.
LONGEST = 200

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>The hill</title>
<style>
body{{font:1.1rem system-ui;max-width:32rem;margin:12vh auto;padding:0 1rem}}
input,button{{font:inherit;padding:.4rem}}
</style>
<h1>The hill</h1>
<p>Held by: <b>{owner}</b></p>
<form method="post"><label>Who holds it now? <input name="text" autofocus></label> <button>Take it</button></form>
</html>
"""


class Target:
    """A text field whose content is the watched file."""

    app = Klein()

    def __init__(self, owner_file: Path) -> None:
        self._file = owner_file

    @app.route("/", methods=["GET"])
    async def show(self, request: IRequest) -> str:
        """The form, and who holds the hill."""
        request.setHeader(b"content-type", b"text/html; charset=utf-8")
        owner = await deferToThread(self._read)
        return _PAGE.format(owner=escape(owner) or "nobody")

    @app.route("/", methods=["POST"])
    async def take(self, request: Any) -> bytes:
        """Write the text that was sent: a form's ``text``, or the whole body."""
        sent = request.args.get(b"text", [None])[0]
        text = (request.content.read() if sent is None else sent).decode("utf-8", "replace")[:LONGEST]
        await deferToThread(self._write, text)
        request.redirect(b"/")
        return b""

    def _read(self) -> str:
        return self._file.read_text() if self._file.exists() else ""

    def _write(self, text: str) -> None:
        # The agent may read at any moment, so the file changes as a whole.
        beside = self._file.with_suffix(".new")
        beside.write_text(text)
        beside.replace(self._file)
