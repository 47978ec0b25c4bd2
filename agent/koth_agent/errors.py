"""What stops a start."""


class StartError(Exception):
    """A setting that can't be followed. The text says which one, and why; never a secret's value."""


def ending(error: Exception) -> SystemExit:
    """The end of a process that can't start: *error* in one line on standard error, and exit status 1."""
    return SystemExit("kothagent: " + " ".join(str(error).split("\n")))
