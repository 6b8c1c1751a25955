"""Reliable delivery of replies to chats, and deduplication of incoming messages."""
