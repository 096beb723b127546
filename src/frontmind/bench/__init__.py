"""Benchmarks that are commands: what the design promises, measured on a model or on data of your own."""
