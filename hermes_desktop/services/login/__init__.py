"""Automatic start of the program at login."""
