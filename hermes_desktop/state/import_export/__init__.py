"""Export and import of sessions as plain objects."""
