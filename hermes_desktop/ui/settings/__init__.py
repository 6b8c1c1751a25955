"""The settings page: find, change, preview, save and undo settings."""
