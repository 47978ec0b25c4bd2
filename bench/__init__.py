"""Load and limits, measured against the real daemon; no part of the tests.

``python -m bench --help`` says what there is.
"""
