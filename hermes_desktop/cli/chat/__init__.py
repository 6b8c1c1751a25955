"""``hermes-desktop chat``: one message, one streamed reply."""
