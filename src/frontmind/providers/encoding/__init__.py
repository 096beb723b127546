"""Encoders: pure functions from a `Window` to the request dict of one wire format."""
