"""What a person does with sessions: list, read, search, edit, delete."""
