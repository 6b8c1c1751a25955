"""Writing a message and following its reply."""
