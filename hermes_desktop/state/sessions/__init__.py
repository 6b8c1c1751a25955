"""Rows of ``sessions``: lists, titles, lineage, usage, and deletion."""
