"""The tools that read, write and search files."""
