"""Frames, parameters and errors of the protocol."""
