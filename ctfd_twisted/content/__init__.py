"""Pages, notifications and comments."""
