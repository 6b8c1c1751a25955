"""Newer versions of this program: released ones, and one that was installed while it runs."""
