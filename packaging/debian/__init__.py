"""Debian packages, written without debhelper: what they contain is known exactly."""
