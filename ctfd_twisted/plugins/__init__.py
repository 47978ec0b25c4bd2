"""Where kinds of challenges and flags are found: every module in this package, on every part of its path.

A third party installs a file ``ctfd_twisted/plugins/<name>.py`` anywhere on the path, without an ``__init__.py`` beside
it.
"""

from twisted.plugin import pluginPackagePaths

__path__.extend(pluginPackagePaths(__name__))
__all__: list[str] = []
