"""The tool that reads web pages."""
