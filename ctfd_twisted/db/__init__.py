"""Engine, transactions, schema and migrations."""
