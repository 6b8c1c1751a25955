"""Shared basics: errors, events, ids, paths, clocks, threads. No Qt, SQLite or network."""
