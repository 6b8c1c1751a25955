"""Frozen records and the decoding of stored values."""
