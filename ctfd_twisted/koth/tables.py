"""Own tables of king of the hill."""
