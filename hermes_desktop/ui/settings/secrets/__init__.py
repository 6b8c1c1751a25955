"""Secrets in the settings: a field for one, a table of all, what can be done about the keyring."""
