"""Gateway hosting for a home, and the desktop's own chat."""
