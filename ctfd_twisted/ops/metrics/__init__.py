"""Figures for Prometheus; nothing here is imported where nobody asked for them."""
