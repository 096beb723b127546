"""Documents that are part of the system prompt: edited by sections, with versions, and files."""
