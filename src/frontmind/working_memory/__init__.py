"""Sections in, composed prompt out."""
