"""``hermes-desktop sessions``: list, search, edit, export and delete sessions."""
