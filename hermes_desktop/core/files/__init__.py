"""Atomic and private files, locks between processes, facts about folders."""
