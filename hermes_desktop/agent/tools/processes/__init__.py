"""The tools that run commands, in the foreground and in the background."""
