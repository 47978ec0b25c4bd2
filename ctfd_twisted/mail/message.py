"""A letter as the bytes that SMTP carries; pure."""

from __future__ import annotations

from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import make_msgid
from typing import Final

import idna

from ctfd_twisted.mail.rules import Letter

# Twisted's client turns each line feed into what SMTP wants.
_POLICY: Final = EmailPolicy(linesep="\n", cte_type="7bit", raise_on_defect=False)


class BadAddressError(ValueError):
    """An address that no mail can be sent to, or from; the text says why."""


def ascii_address(address: str) -> str:
    """Return *address* as SMTP without extensions takes it: an international domain in its ASCII form.

    Raises ``BadAddressError``, also for a local part that is not ASCII, which few servers accept.
    """
    local, at, domain = address.rpartition("@")
    if not (local and at and domain) or not local.isascii() or any(part.isspace() for part in address):
        raise BadAddressError(f"{address!r} is no address that mail can be sent to")
    try:
        return f"{local}@{domain if domain.isascii() else idna.encode(domain).decode('ascii')}"
    except idna.IDNAError as error:
        raise BadAddressError(f"{address!r} is no address that mail can be sent to: {error}") from None


def compose(letter: Letter, sender_name: str, sender: str, sent: datetime) -> bytes:
    """Return *letter* from *sender* as a message whose lines end in line feeds; raises ``BadAddressError``."""
    sender, recipient = ascii_address(sender), ascii_address(letter.recipient)
    message = EmailMessage(_POLICY)
    try:
        message["From"] = Address(_one_line(sender_name), addr_spec=sender)
        message["To"] = Address(addr_spec=recipient)
    except (ValueError, IndexError, MessageError) as error:
        raise BadAddressError(f"{letter.recipient!r} is no address that mail can be sent to: {error}") from None
    message["Subject"] = _one_line(letter.subject)
    message["Date"] = sent
    message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(letter.body, cte="quoted-printable")
    head, blank, body = message.as_bytes().partition(b"\n\n")
    # A line that begins with a dot would have to be doubled on its way; Twisted misses that between two chunks.
    return head + blank + (b"\n" + body).replace(b"\n.", b"\n=2E")[1:]


def _one_line(text: str) -> str:
    return " ".join(text.split())
