"""``hermes-desktop gateway``: run, stop and inspect the gateway of a home."""
