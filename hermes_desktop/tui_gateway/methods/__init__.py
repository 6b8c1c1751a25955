"""The methods of the protocol, by subject."""
