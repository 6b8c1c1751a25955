"""The files in which a gateway says that it runs, and how it ended."""
