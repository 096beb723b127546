"""The command line. An edge: it reads arguments, files and keys, and prints."""
