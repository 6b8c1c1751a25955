"""Full-text search over all conversations."""
