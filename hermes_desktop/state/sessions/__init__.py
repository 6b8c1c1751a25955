"""Rows of ``sessions``: lists, titles, lineage, usage, deletion."""
