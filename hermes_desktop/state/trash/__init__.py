"""The trash: deleted sessions, restorable for a limited time."""
