"""Decoders: pure functions from the JSON of a reply, of a stream or of a request to values."""
