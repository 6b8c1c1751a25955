"""The content of a message: Markdown, code, tool calls."""
