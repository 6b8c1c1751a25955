"""Replies that are being written."""
