"""Finding again what was said, remembered and written: embedding, indexing and searching."""
