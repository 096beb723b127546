"""The routes of the API, a module for each thing."""
