"""Access control of the gateway: authorization, pairing and command permissions."""
