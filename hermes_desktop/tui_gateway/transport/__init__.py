"""Transports of frames: the program's own streams, or a socket with several clients."""
