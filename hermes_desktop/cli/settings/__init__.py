"""The commands for settings, secrets, models and plugins."""
