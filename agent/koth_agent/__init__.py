"""A King-of-the-Hill agent: a small HTTP service on a contested host that says who holds it."""

__version__ = "1.0.0"
