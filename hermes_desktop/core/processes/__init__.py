"""Child processes and process trees: started, bounded, found and ended."""
