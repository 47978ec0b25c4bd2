"""Builders and the in-memory platform, for our tests and for plug-in authors."""
