"""Compaction of conversations, to keep them within the context window of their model."""
