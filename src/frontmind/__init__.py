"""Frontmind composes the context window of an assistant that remembers, and runs that assistant."""
