"""What a person can order in a chat by a word that begins with a slash."""
