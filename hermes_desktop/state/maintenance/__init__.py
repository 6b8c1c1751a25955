"""Health, snapshots, repair and statistics of the whole store."""
