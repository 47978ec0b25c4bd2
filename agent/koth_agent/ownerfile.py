"""Reading the watched file. It blocks, so it is called in a thread.

Whoever holds the hill writes this file, and often owns its folder. So the file is opened as something a stranger left
there: a FIFO must not hang the agent, and a link must not make it read aloud what only the agent may read (its own
environment, its key).
"""

import os
import stat

from koth_agent.identity import OWNER_BYTES, OwnerUnknown, owner_in

# O_NONBLOCK is for the FIFO: without it open() waits for a writer, and ten such requests use up the threads.
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def read_owner_file(path: str) -> str:
    """The owner in the file at *path*, as it is at this moment. Raises ``OwnerUnknown`` with the reason."""
    try:
        descriptor = _open(path)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OwnerUnknown(f"{path}: not a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                return owner_in(file.read(OWNER_BYTES))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise OwnerUnknown(f"{path}: {error.strerror}") from error


def _open(path: str) -> int:
    """A descriptor of the file at *path*; of a link's target only if the link can be trusted.

    Trusted are links made by root, by the agent's own user, or by the owner of the target, who could have copied it
    just as well: the rule of Linux's own fs.protected_symlinks, here for every folder.
    """
    found = os.lstat(path)
    if not stat.S_ISLNK(found.st_mode):
        return os.open(path, READ | os.O_NOFOLLOW)  # it may have become a link since
    descriptor = os.open(path, READ)
    if found.st_uid in {0, os.geteuid(), os.fstat(descriptor).st_uid}:
        return descriptor
    os.close(descriptor)
    raise OwnerUnknown(f"{path}: a link made by user {found.st_uid} to somebody else's file")
