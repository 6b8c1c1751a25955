"""Export of sessions to files, and import from them."""
