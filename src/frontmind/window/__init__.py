"""The window as a value, and pure functions on it: framing, normalising, blocks, canonical bytes."""
