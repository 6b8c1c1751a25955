"""The platforms page of the settings: requirements, connection state, and authorized senders."""
