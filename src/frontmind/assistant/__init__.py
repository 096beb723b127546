"""The assistant: the orchestrator that runs a turn, and the only wiring."""
