"""Tools: functions and MCP servers that a model can call, and running them."""
