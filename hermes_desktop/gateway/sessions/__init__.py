"""Which session each chat is in."""
