"""The web interface for players and administrators."""
