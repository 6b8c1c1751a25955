"""The header of a session's page: title, state, context, usage."""
