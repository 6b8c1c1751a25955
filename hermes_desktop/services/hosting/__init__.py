"""Hosting the gateway of a home, and the desktop's own chat."""
