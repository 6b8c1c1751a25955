"""One SQLite file: opened, read, written, and kept compatible."""
