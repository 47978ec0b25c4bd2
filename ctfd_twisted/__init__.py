"""A capture-the-flag platform on Twisted, compatible with CTFd 3.8.7."""

__version__ = "0.1.0"
