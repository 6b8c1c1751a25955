"""Slash commands in chats."""
