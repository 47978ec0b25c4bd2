"""Import, export and feeds."""
