"""One SQLite file: opening, reading, writing, and schema compatibility."""
