"""The HTTP edge: an API, APIs that other programs' clients know, and a page."""
