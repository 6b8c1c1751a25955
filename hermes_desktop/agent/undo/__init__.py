"""Undo of a turn: keeps what the turn changes in its folder, and puts it back."""
