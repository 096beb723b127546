"""Frozen values without I/O: messages and their parts, usage, the clock, sections, stored records."""
