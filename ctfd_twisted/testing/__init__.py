"""For our own tests and for those of plug-in authors: builders of rows, a platform in memory, a fake agent."""

from ctfd_twisted.testing.platform import Client, MemoryPlatform, Reply, result_of, settings_for_tests

__all__ = ("Client", "MemoryPlatform", "Reply", "result_of", "settings_for_tests")
