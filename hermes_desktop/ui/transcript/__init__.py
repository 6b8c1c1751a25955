"""The conversation, message by message."""
