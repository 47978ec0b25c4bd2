"""What stops a start."""


class StartError(Exception):
    """A setting that can't be followed. The text is one line: which setting, and why; never a secret's value."""
