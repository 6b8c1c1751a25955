"""The session list and its models."""
