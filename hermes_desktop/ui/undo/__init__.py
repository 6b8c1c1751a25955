"""Undoing a turn: the preview, the commands, and the card of files that run automatically."""
