"""One setting on a page: its label, field, notes and place."""
