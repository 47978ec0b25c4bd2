"""The competition's settings and secrets."""
