"""The messages of a session: rows, turns, branches, compaction."""
