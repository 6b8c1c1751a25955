"""Words everybody shares: errors, events, ids, paths, clocks, threads. No Qt, SQLite or network."""
