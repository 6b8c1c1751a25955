"""Operations on sessions: list, read, search, edit, delete."""
