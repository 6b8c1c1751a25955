"""Atomic and private files, locks between processes, properties of folders."""
