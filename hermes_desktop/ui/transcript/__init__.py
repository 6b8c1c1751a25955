"""The transcript view: the conversation, message by message."""
