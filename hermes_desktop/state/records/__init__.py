"""Immutable records, and the encoding and decoding of stored values."""
