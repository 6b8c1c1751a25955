"""Turns of a chat: agents, progress, replies."""
