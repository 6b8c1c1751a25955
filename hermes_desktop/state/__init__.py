"""Everything that touches state.db, the database shared with the ``hermes`` command."""
