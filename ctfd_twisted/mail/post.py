"""Where other features hand in letters: sealed, ready to be owed by a transaction of theirs."""

from __future__ import annotations

from collections.abc import Mapping

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.mail.letters import Kind, write_letter
from ctfd_twisted.mail.rules import route_of
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.store import SealedLetter
from ctfd_twisted.settings import MailServer


class Post:
    """Writes and seals letters; *server* is the deployment's SMTP server, behind the competition's own."""

    def __init__(self, sealer: Sealer, server: MailServer | None) -> None:
        self._sealer = sealer
        self._server = server

    def possible(self, competition: Competition) -> bool:
        """Return whether mail can be sent at all."""
        return route_of(competition, self._server) is not None

    def write(
        self,
        competition: Competition,
        kind: Kind,
        recipient: str | None,
        url: str,
        extra: Mapping[str, str] | None = None,
    ) -> SealedLetter | None:
        """Return a letter of *kind* for ``mail.store.enqueue``; ``None`` where no mail is possible, or no recipient."""
        if not recipient or not self.possible(competition):
            return None
        letter = write_letter(competition, kind, recipient, url, extra)
        return SealedLetter(letter.recipient, letter.subject, self._sealer.seal(letter.body))
