"""Further tables besides sessions and messages, in state.db and in desktop.db."""
