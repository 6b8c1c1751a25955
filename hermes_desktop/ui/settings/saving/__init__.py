"""Pending changes of settings: previewing, saving and undoing them."""
