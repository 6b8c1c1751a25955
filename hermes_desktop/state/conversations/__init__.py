"""The messages of a session: rows, turns, branches, and compaction."""
