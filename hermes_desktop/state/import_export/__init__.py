"""Sessions as plain objects, written out and read back."""
