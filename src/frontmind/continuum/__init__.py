"""The conversation over time: what is history, what fits, and how foreign conversations come in."""
