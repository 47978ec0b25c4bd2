"""Who holds the hill: the rules that turn a file's bytes or a command's run into an owner. No I/O here."""

from koth_agent.run import Run

OWNER_CHARACTERS = 4096  # what is answered at most
OWNER_BYTES = 64 * 1024  # what is read at most: room for the characters, and for white space before them


class OwnerUnknown(Exception):
    """Nobody can say who holds the hill. The text says why, for the log; the platform is told only that it is so."""


def owner_in(text: bytes) -> str:
    """The owner that *text* names: without surrounding white space, cut at 4,096 characters.

    Bytes that are not UTF-8 become U+FFFD. An empty text is an answer too: nobody holds the hill.
    """
    return text.decode("utf-8", "replace").strip()[:OWNER_CHARACTERS]


def owner_printed_by(run: Run) -> str:
    """The owner on the standard output of an owner command. Raises ``OwnerUnknown`` unless the run succeeded."""
    if not run.succeeded:
        raise OwnerUnknown(f"owner-cmd failed: {run.trouble}")
    return owner_in(run.stdout)
