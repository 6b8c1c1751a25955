"""The gateway in the window: its state, its platforms, and authorized senders."""
