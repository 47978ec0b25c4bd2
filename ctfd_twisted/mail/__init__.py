"""Mail: what is written to people, and how it leaves."""
