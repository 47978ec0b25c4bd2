"""Webhook endpoints, the outbox and its dispatcher."""
