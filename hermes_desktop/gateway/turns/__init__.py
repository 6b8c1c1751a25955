"""One turn of a chat: its agent, its progress, its reply."""
