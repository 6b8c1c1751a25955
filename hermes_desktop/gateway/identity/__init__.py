"""Which process is the gateway of a home: claimed, held, watched, handed over."""
