"""Persistence: the protocols, and SQLite as their default implementation."""
