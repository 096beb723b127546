"""What prompt caches will do, what they did, and what each layout of a window costs: rules, records, verdicts."""
