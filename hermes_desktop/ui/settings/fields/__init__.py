"""One setting on a page: its label, editor and notes."""
