"""Reminders: reading the phrase that says when."""
