"""Undo of a turn: what it changes in its folder is kept before, and can be put back."""
