"""Deleted sessions, restorable for a while."""
