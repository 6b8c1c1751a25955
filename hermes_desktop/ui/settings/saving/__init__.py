"""Changes that are not saved yet: previewed, saved, undone."""
