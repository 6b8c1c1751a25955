"""``hermes-desktop gateway``: run, stop and look at the gateway of a home."""
