"""Replies on their way to a chat, and messages that are handled once."""
