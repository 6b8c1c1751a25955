"""Which model answers, at which address, with which key."""
