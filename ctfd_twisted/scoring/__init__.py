"""Attempts, solves, awards, unlocks, values and standings."""
