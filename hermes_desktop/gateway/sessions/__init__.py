"""Assignment of chats to sessions: entries, routing files and state.db rows."""
