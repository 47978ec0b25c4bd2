"""Challenges, their flags, hints, files, tags, topics, solutions and ratings."""
