"""Own tables of the webhooks."""
